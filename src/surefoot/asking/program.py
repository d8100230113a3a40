"""Build the one program that is sent to a host: our own modules, their options, and a frame for the answer.

It is plain text that anybody can read before running it, needs nothing but a Python 3.8, imports our
modules from its own text under their usual names, and leaves no file behind. An older Python, even 2.7,
gets far enough to say that it is too old. The answer is one line of JSON between two lines that hold a
random mark, so that whatever a login shell prints around it does no harm.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from surefoot.errors import SurefootError

BEGIN, END = "SUREFOOT-BEGIN", "SUREFOOT-END"

_PROGRAM = '''\
"""A Surefoot probe: reads what this host is and prints it. Standard library only; writes no file."""
import sys

sys.path[:] = [path for path in sys.path if path]

import json

MARK = %(mark)s
OPTIONS = json.loads(%(options)s)
COLLECTORS = json.loads(%(collectors)s)
SOURCES = {
%(sources)s
}


def reply(answer):
    sys.stdout.write("\\n%(begin)s " + MARK + "\\n" + json.dumps(answer) + "\\n%(end)s " + MARK + "\\n")
    sys.stdout.flush()


class Shipped(object):
    def find_spec(self, name, path=None, target=None):
        if name in SOURCES:
            from importlib.machinery import ModuleSpec
            return ModuleSpec(name, self, is_package=SOURCES[name] is None)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        source = SOURCES[module.__name__]
        if source is not None:
            exec(compile(source, module.__name__, "exec"), module.__dict__)


def main():
    from importlib import import_module
    sys.meta_path.insert(0, Shipped())
    parts = []
    for name in COLLECTORS:
        parts.extend(import_module(name).parts())
    return import_module("surefoot.asking.parts").collect(parts, OPTIONS)


if sys.version_info < (3, 8):
    reply({"refused": "Python " + sys.version.split()[0] + " is too old, 3.8 is needed"})
elif not sys.platform.startswith("linux"):
    reply({"refused": "this is " + sys.platform + ", not Linux"})
else:
    reply({"python": sys.version.split()[0], "parts": main()})
'''


@dataclass(frozen=True)
class Program:
    """The text to send and the mark its answer is framed with."""

    text: str
    mark: str


def build(collectors: Sequence[str], options: Mapping[str, object]) -> Program:
    """A program that runs `parts()` of the modules `collectors`, which import only their own packages.

    Every module of a collector's package travels, and those of `surefoot.asking` that are meant to.
    """
    shipped = ["surefoot.asking.commands", "surefoot.asking.parts"]
    for collector in collectors:
        package = collector.rpartition(".")[0]
        shipped += [f"{package}.{path.stem}" for path in sorted(_file(package).parent.glob("*.py"))]
    sources: dict[str, str | None] = {}
    for name in shipped:
        if name.endswith(".__init__"):
            continue
        words = name.split(".")
        for depth in range(1, len(words)):
            sources.setdefault(".".join(words[:depth]), None)
        sources[name] = _file(name).read_text(encoding="utf-8")
    mark = secrets.token_hex(16)
    text = _PROGRAM % {
        "mark": ascii(mark),
        "options": ascii(json.dumps(dict(options))),
        "collectors": ascii(json.dumps(list(collectors))),
        "sources": "\n".join(f"    {name!a}: {_literal(source)}," for name, source in sources.items()),
        "begin": BEGIN,
        "end": END,
    }
    return Program(text, mark)


def _literal(source: str | None) -> str:
    """A Python literal, one source line to a line, so that the program stays readable."""
    if source is None:
        return "None"
    lines = source.splitlines(keepends=True)
    return "(\n" + "\n".join(f"        {line!a}" for line in lines) + "\n    )"


def _file(module: str) -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise SurefootError(f"the module {module} is missing from this installation")
    return Path(spec.origin)
