"""The classes of an engine's model files and who inherits from whom, across files."""

from __future__ import annotations

import ast
import os

from surefoot.engines.probe.syntax import outline


class Classes:
    """Every class of the modules in one folder, by (module, name), with bases and methods."""

    def __init__(self, folder: str, package: str) -> None:
        self.bases: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self.methods: dict[tuple[str, str], set[str]] = {}
        self.entries: list[tuple[str, str]] = []
        self.unreadable: list[str] = []
        for where, _, files in sorted(os.walk(folder)):
            below = os.path.relpath(where, folder)
            prefix = package if below == "." else package + "." + below.replace(os.sep, ".")
            for file in sorted(files):
                if file.endswith(".py"):
                    name = prefix if file == "__init__.py" else prefix + "." + file[:-3]
                    self._read(os.path.join(where, file), name, top=below == ".")

    def _read(self, path: str, module: str, top: bool) -> None:
        try:
            with open(path, "rb") as file:
                source = file.read()
            try:
                tree = outline(source)
            except SyntaxError:
                tree = ast.parse(source)
        except (OSError, SyntaxError, ValueError):
            self.unreadable.append(module)
            return
        imported: dict[str, tuple[str, str]] = {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                origin = _absolute(node, module, path.endswith("__init__.py"))
                imported.update({a.asname or a.name: (origin, a.name) for a in node.names})
            elif isinstance(node, ast.ClassDef):
                key = (module, node.name)
                names = [_last_name(base) for base in node.bases]
                self.bases[key] = [imported.get(name, (module, name)) for name in names if name]
                self.methods[key] = {f.name for f in node.body if isinstance(f, ast.FunctionDef)}
            elif isinstance(node, ast.Assign) and top and _names_entry(node):
                value = node.value
                listed = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
                for entry in listed:
                    if isinstance(entry, ast.Name):
                        self.entries.append(imported.get(entry.id, (module, entry.id)))

    def ancestry(self, key: tuple[str, str]) -> list[tuple[str, str]]:
        """A class and all it inherits from."""
        seen: list[tuple[str, str]] = []
        waiting = [key]
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.append(current)
                waiting += self.bases.get(current, [])
        return seen

    def has_method(self, key: tuple[str, str], method: str) -> bool:
        """Whether a class has a method, of its own or inherited."""
        return any(method in self.methods.get(k, ()) for k in self.ancestry(key))

    def inherits(self, key: tuple[str, str], names: set[str]) -> bool:
        """Whether one of `names` is among a class's ancestors."""
        return any(name in names for _, name in self.ancestry(key))


def _names_entry(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "EntryClass" for target in node.targets)


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    words = module.split(".")
    words = words[: len(words) - node.level + (1 if is_package else 0)]
    return ".".join(words + ([node.module] if node.module else []))


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
