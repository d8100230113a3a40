"""`python -m surefoot.hosts.ship`: print the program that `surefoot probe` sends, to read or to run by hand.

What it prints on a host that no SSH reaches becomes machine.json: `surefoot probe HOST --answer FILE`.
"""

from __future__ import annotations

import sys

from surefoot.hosts.probe import program

if __name__ == "__main__":
    sys.stdout.write(program().text)
