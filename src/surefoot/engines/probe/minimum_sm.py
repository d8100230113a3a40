"""The oldest GPU a quantization method runs on, from `get_min_capability` of its class."""

from __future__ import annotations

import ast
import os
import re

from surefoot.asking.commands import Unlearned
from surefoot.engines.probe.syntax import parse

METHOD = "get_min_capability"


class MinimumSm:
    """Looks classes up by name in a folder of quantization code; each file is parsed once, when needed."""

    def __init__(self, folder: str) -> None:
        self._files: dict[str, list[str]] = {}
        self._trees: dict[str, ast.Module] = {}
        for where, _, files in sorted(os.walk(folder)):
            for file in sorted(files):
                if file.endswith(".py"):
                    path = os.path.join(where, file)
                    with open(path, "rb") as source:
                        for name in re.findall(rb"^class (\w+)", source.read(), re.MULTILINE):
                            self._files.setdefault(name.decode(), []).append(path)

    def of(self, class_name: str, method: str, depth: int = 0) -> int | None:
        """SM as one number (89), None when the code computes it or names none."""
        for path in self._files.get(class_name, []):
            node = self._class(path, class_name)
            if node is None or depth > 8:
                continue
            for statement in node.body:
                if isinstance(statement, ast.FunctionDef) and statement.name == METHOD:
                    return self._returned(statement, method, depth)
            for base in node.bases:
                if isinstance(base, ast.Name):
                    inherited = self.of(base.id, method, depth + 1)
                    if inherited is not None:
                        return inherited
        return None

    def _class(self, path: str, name: str) -> ast.ClassDef | None:
        if path not in self._trees:
            try:
                self._trees[path] = parse(path)
            except Unlearned:
                self._trees[path] = ast.Module(body=[], type_ignores=[])
        found = (n for n in self._trees[path].body if isinstance(n, ast.ClassDef) and n.name == name)
        return next(found, None)

    def _returned(self, function: ast.FunctionDef, method: str, depth: int) -> int | None:
        """The last `return` is the one for CUDA; earlier ones sit under tests for other hardware."""
        last = function.body[-1]
        while isinstance(last, ast.If) and last.orelse:
            last = last.orelse[-1]
        value = last.value if isinstance(last, ast.Return) else None
        if isinstance(value, ast.IfExp):
            value = value.body if _holds(value.test, method) else value.orelse
        if isinstance(value, ast.Constant) and isinstance(value.value, int):
            return value.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            owner = value.func.value
            if value.func.attr == METHOD and isinstance(owner, ast.Name):
                return self.of(owner.id, method, depth + 1)
        return None


def _holds(test: ast.expr, method: str) -> bool:
    """`not _is_other_hardware` holds on CUDA; `self.use_mxfp8` holds for the method mxfp8."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return True
    return isinstance(test, ast.Attribute) and test.attr == "use_" + method
