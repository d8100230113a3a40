"""Read an engine's source files as syntax, without importing them.

Bytes are parsed, so that a byte order mark or an encoding line does no harm. A file that this Python
cannot parse whole (syntax of a newer one) is parsed as an outline, see `outline`.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from surefoot.asking.commands import Unlearned

_METHOD = re.compile(rb"    (?:async )?def (\w+)")
_KEPT = (b"from ", b"import ", b"EntryClass")


def parse(*path: str) -> ast.Module:
    """The syntax tree of a file. Raises `Unlearned` when it is missing or not Python."""
    name = os.path.join(*path)
    try:
        with open(name, "rb") as file:
            source = file.read()
    except OSError as error:
        raise Unlearned(f"{name}: {error.strerror}") from None
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise Unlearned(f"{name} cannot be parsed: {error}") from None


def outline(source: bytes) -> ast.Module:
    """The imports, classes (bases and names of methods) and `EntryClass` of a module, nothing else.

    An engine has hundreds of model files; this reads them in a tenth of the time that a whole parse
    takes, and reads those that use newer syntax inside function bodies. Raises `SyntaxError`.
    """
    if source.startswith(b"\xef\xbb\xbf"):
        source = source[3:]
    kept: list[bytes] = []
    lines = iter(source.splitlines())
    for line in lines:
        method = _METHOD.match(line) if line.startswith(b"    ") else None
        if method and kept and kept[-1].startswith((b"class ", b"  ")):
            kept.append(b"  def " + method.group(1) + b"(self): pass")
        elif line.startswith(b"class "):
            kept.append(_statement(line, lines, b":"))
            kept.append(b"  pass")
        elif line.startswith(_KEPT):
            kept.append(_statement(line, lines, b""))
        elif line[:1].strip() and not line.startswith((b"#", b")", b"]", b"}")):
            kept.append(b"pass")
    return ast.parse(b"\n".join(kept) + b"\n")


def _statement(line: bytes, lines: Iterator[bytes], end: bytes) -> bytes:
    """`line` and those after it up to where its brackets close (and, for a class, its colon comes)."""
    text = _bare(line)
    while text.count(b"(") + text.count(b"[") > text.count(b")") + text.count(b"]") or text.endswith(b"\\"):
        following = next(lines, None)
        if following is None:
            break
        text = text.rstrip(b"\\") + b" " + _bare(following).strip()
    return text[: text.index(end) + 1] if end and not text.endswith(end) and end in text else text


def _bare(line: bytes) -> bytes:
    return line.split(b"#")[0].rstrip()


def strings(node: ast.AST | None) -> list[str] | None:
    """The strings of a literal list, tuple or set; None when it is something else."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        values = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        return values if len(values) == len(node.elts) else None
    return None


def assigned(tree: ast.Module) -> dict[str, ast.expr]:
    """Name -> value of the assignments at a module's top level."""
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return found


def class_named(tree: ast.Module, name: str) -> ast.ClassDef:
    """A class at a module's top level. Raises `Unlearned` when there is none."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    raise Unlearned(f"there is no class {name}")


def members(node: ast.ClassDef) -> list[str]:
    """The names assigned in a class body: the members of an enumeration."""
    targets = [t for statement in node.body if isinstance(statement, ast.Assign) for t in statement.targets]
    return [target.id for target in targets if isinstance(target, ast.Name) and target.id[0] != "_"]
