"""How a host is asked anything: one program, shipped whole on standard input, here or over SSH.

`commands` and `parts` also travel to the host: standard library only, Python 3.8 or newer.
"""

from surefoot.asking.program import Program, build
from surefoot.asking.transport import Asked, HostError, ask

__all__ = ["Asked", "HostError", "Program", "ask", "build"]
