"""`python -m surefoot.hosts.ship`: print the program that `surefoot probe` sends, to read or to run by hand.

`python -m surefoot.hosts.ship | ssh HOST python3 -` prints the raw answer of a host.
"""

from __future__ import annotations

import sys

from surefoot.hosts.probe import program

if __name__ == "__main__":
    sys.stdout.write(program().text)
