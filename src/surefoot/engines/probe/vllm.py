"""What an installed vLLM can do, from its own files, without importing it. Paths are below `vllm/`."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import Any

from surefoot.asking.commands import Unlearned
from surefoot.engines.probe.classes import Classes
from surefoot.engines.probe.minimum_sm import MinimumSm
from surefoot.engines.probe.syntax import assigned, class_named, members, parse

CAPTURING = {"SupportsEagle3"}
"""The interface of models that hand out hidden states of their layers to a drafter."""
MODELS = "vllm.model_executor.models"


def read_vllm(package: str) -> dict[str, Any]:
    """The capabilities of the vLLM whose package folder this is; parts that fail are named in `unknown`."""
    found: dict[str, Any] = {"unknown": []}
    readers: list[Callable[[str], dict[str, Any]]] = [
        _attention, _algorithms, _architectures, _quantization, _platforms
    ]  # fmt: skip
    for reader in readers:
        try:
            found.update(reader(package))
        except Unlearned as error:
            found["unknown"].append({"part": reader.__name__.strip("_"), "reason": str(error)})
    return found


def _attention(package: str) -> dict[str, Any]:
    for path in (("v1", "attention", "backends", "registry.py"), ("attention", "backends", "registry.py")):
        if os.path.exists(os.path.join(package, *path)):
            tree = parse(package, *path)
            for name in ("AttentionBackendEnum", "_Backend"):
                try:
                    names = members(class_named(tree, name))
                except Unlearned:
                    continue
                return {"attention_backends": sorted(names), "attention_backend_choices": sorted(names)}
    raise Unlearned("no attention backend registry")


def _algorithms(package: str) -> dict[str, Any]:
    values = assigned(parse(package, "config", "speculative.py"))
    if "SpeculativeMethod" not in values:
        raise Unlearned("no SpeculativeMethod in config/speculative.py")
    methods = _literal(values["SpeculativeMethod"], values)
    return {
        "speculative_algorithms": methods,
        "speculative_choices": methods,
        "out_of_tree_algorithms": "custom_class" in methods,
    }


def _literal(node: ast.expr, values: dict[str, ast.expr]) -> list[str]:
    """The strings of a `Literal[...]` that may name other ones."""
    if isinstance(node, ast.Name):
        return _literal(values[node.id], values) if node.id in values else []
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Subscript):
        return _literal(node.slice, values)
    if isinstance(node, ast.Tuple):
        return [name for element in node.elts for name in _literal(element, values)]
    inner = getattr(node, "value", None)  # Python 3.8 wraps a subscript's content
    return _literal(inner, values) if isinstance(inner, ast.expr) else []


def _architectures(package: str) -> dict[str, Any]:
    folder = os.path.join(package, "model_executor", "models")
    registered: dict[str, tuple[str, str]] = {}
    for name, value in assigned(parse(folder, "registry.py")).items():
        if name.startswith("_") and name.endswith("_MODELS") and isinstance(value, ast.Dict):
            for key, entry in zip(value.keys, value.values):  # noqa: B905
                if isinstance(key, ast.Constant) and isinstance(entry, ast.Tuple):
                    words = [e.value for e in entry.elts if isinstance(e, ast.Constant)]
                    if len(words) == 2:
                        registered[str(key.value)] = (str(words[0]), str(words[1]))
    if not registered:
        raise Unlearned("no models in model_executor/models/registry.py")
    classes = Classes(folder, MODELS)
    found = []
    for name in sorted(registered):
        module, class_name = registered[name]
        module = module if module.startswith("vllm.") else MODELS + "." + module
        captures = classes.inherits((module, class_name), CAPTURING)
        found.append({"name": name, "module": module, "captures_hidden_states": captures})
    return {"architectures": found, "unreadable_modules": classes.unreadable}


def _quantization(package: str) -> dict[str, Any]:
    folder = os.path.join(package, "model_executor", "layers", "quantization")
    tree = parse(folder, "__init__.py")
    values = assigned(tree)
    if "QuantizationMethods" not in values:
        raise Unlearned("no QuantizationMethods in model_executor/layers/quantization")
    names = _literal(values["QuantizationMethods"], values)
    classes: dict[str, str] = {}
    for node in ast.walk(tree):
        target = getattr(node, "target", None) or next(iter(getattr(node, "targets", [])), None)
        value = getattr(node, "value", None)
        if getattr(target, "id", "") == "method_to_config" and isinstance(value, ast.Dict):
            for key, entry in zip(value.keys, value.values):  # noqa: B905
                if isinstance(key, ast.Constant) and isinstance(entry, ast.Name):
                    classes[str(key.value)] = entry.id
    minimum = MinimumSm(folder)
    known = [{"name": n, "minimum_sm": minimum.of(classes[n], n) if n in classes else None} for n in sorted(names)]
    return {"quantization": known, "quantization_choices": sorted(names)}


def _platforms(package: str) -> dict[str, Any]:
    value = assigned(parse(package, "platforms", "__init__.py")).get("builtin_platform_plugins")
    if not isinstance(value, ast.Dict):
        raise Unlearned("no builtin_platform_plugins in platforms/__init__.py")
    return {"platforms": [str(key.value) for key in value.keys if isinstance(key, ast.Constant)]}
