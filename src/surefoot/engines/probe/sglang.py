"""What an installed SGLang can do, from its own files (0.5.9 and newer), without importing it.

Paths are below `sglang/srt/`. Registered, choosable and working are three different facts: this reads
the first two.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import Any

from surefoot.asking.commands import Unlearned
from surefoot.engines.probe.classes import Classes
from surefoot.engines.probe.minimum_sm import MinimumSm
from surefoot.engines.probe.syntax import assigned, class_named, members, parse, strings

CAPTURE = "set_dflash_layers_to_capture"


def read_sglang(package: str) -> dict[str, Any]:
    """The capabilities of the SGLang whose package folder this is; parts that fail are named in `unknown`."""
    srt = os.path.join(package, "srt")
    found: dict[str, Any] = {"unknown": []}
    readers: list[Callable[[str], dict[str, Any]]] = [
        _attention, _choices, _algorithms, _architectures, _quantization, _mla, _draft_backends
    ]  # fmt: skip
    for reader in readers:
        try:
            found.update(reader(srt))
        except Unlearned as error:
            found["unknown"].append({"part": reader.__name__.strip("_"), "reason": str(error)})
    return found


def _attention(srt: str) -> dict[str, Any]:
    tree = parse(srt, "layers", "attention", "attention_registry.py")
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "register_attention_backend":
                    names |= {a.value for a in mark.args if isinstance(a, ast.Constant)}
    return {"attention_backends": sorted(str(name) for name in names)}


def _choices(srt: str) -> dict[str, Any]:
    """The command line's choices: arg_groups/choices.py, in older versions server_args.py."""
    values: dict[str, ast.expr] = {}
    for path in (("server_args.py",), ("arg_groups", "choices.py")):
        if path[0] == "server_args.py" and os.path.exists(os.path.join(srt, "arg_groups", "choices.py")):
            continue
        if os.path.exists(os.path.join(srt, *path)):
            tree = parse(srt, *path)
            values.update(assigned(tree))
    if not values:
        raise Unlearned("neither server_args.py nor arg_groups/choices.py is there")
    return {
        "attention_backend_choices": strings(values.get("ATTENTION_BACKEND_CHOICES")),
        "draft_attention_backend_choices": strings(values.get("DRAFT_ATTENTION_BACKEND_CHOICES")),
        "quantization_choices": strings(values.get("QUANTIZATION_CHOICES")),
    }


def _algorithms(srt: str) -> dict[str, Any]:
    node = class_named(parse(srt, "speculative", "spec_info.py"), "SpeculativeAlgorithm")
    methods = {f.name for f in node.body if isinstance(f, ast.FunctionDef)}
    answer: dict[str, Any] = {
        "speculative_algorithms": [name for name in members(node) if name != "NONE"],
        "out_of_tree_algorithms": "register" in methods,
        "speculative_choices": None,
    }
    if not answer["out_of_tree_algorithms"]:
        answer["speculative_choices"] = _argument_choices(parse(srt, "server_args.py"), "--speculative-algorithm")
    return answer


def _argument_choices(tree: ast.Module, flag: str) -> list[str] | None:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "add_argument":
            continue
        if any(isinstance(a, ast.Constant) and a.value == flag for a in node.args):
            return next((strings(k.value) for k in node.keywords if k.arg == "choices"), None)
    return None


def _architectures(srt: str) -> dict[str, Any]:
    folder = os.path.join(srt, "models")
    if not os.path.isdir(folder):
        raise Unlearned(f"{folder} is not there")
    classes = Classes(folder, "sglang.srt.models")
    entries = {
        name: {
            "name": name,
            "module": module,
            "captures_hidden_states": classes.has_method((module, name), CAPTURE),
        }
        for module, name in classes.entries
    }
    if not entries:
        raise Unlearned(f"no EntryClass in {folder}")
    return {
        "architectures": [entries[name] for name in sorted(entries)],
        "unreadable_modules": classes.unreadable,
    }


def _quantization(srt: str) -> dict[str, Any]:
    folder = os.path.join(srt, "layers", "quantization")
    tree = parse(folder, "__init__.py")
    methods: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "BASE_QUANTIZATION_METHODS":
            methods.update(_names_of(node.value))
    minimum = MinimumSm(folder)
    for name, class_name in _cuda_additions(tree).items():
        methods.setdefault(name, class_name)
    return {"quantization": [{"name": n, "minimum_sm": minimum.of(c, n)} for n, c in sorted(methods.items())]}


def _cuda_additions(tree: ast.Module) -> dict[str, str]:
    """`if is_cuda() ...: BASE_QUANTIZATION_METHODS.update({...})`."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.If) and "is_cuda" in {
            getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(node.test)
        }:
            for call in (n for s in node.body for n in ast.walk(s) if isinstance(n, ast.Call)):
                if getattr(call.func, "attr", "") == "update" and call.args:
                    found.update(_names_of(call.args[0]))
    return found


def _names_of(node: ast.AST | None) -> dict[str, str]:
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values)  # noqa: B905
    return {str(k.value): v.id for k, v in pairs if isinstance(k, ast.Constant) and isinstance(v, ast.Name)}


def _mla(srt: str) -> dict[str, Any]:
    """Architectures that get MLA: names listed in configs/model_config.py, some with a condition."""
    always, conditional = set(), set()
    for node in ast.walk(parse(srt, "configs", "model_config.py")):
        if isinstance(node, ast.If) and any(_assigns_mla(statement) for statement in node.body):
            certain = _alternatives(node.test)
            always |= certain
            conditional |= _architecture_names(node.test) - certain
    if not always:
        raise Unlearned("no architecture is given AttentionArch.MLA in configs/model_config.py")
    return {"mla_architectures": sorted(always), "mla_conditional_architectures": sorted(conditional)}


def _assigns_mla(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Assign) else None
    return (
        isinstance(value, ast.Attribute) and value.attr == "MLA" and getattr(value.value, "id", "") == "AttentionArch"
    )


def _alternatives(test: ast.expr) -> set[str]:
    """Names that satisfy a test alone: the terms of an `or`."""
    if isinstance(test, ast.BoolOp):
        return set().union(*(_alternatives(v) for v in test.values)) if isinstance(test.op, ast.Or) else set()
    return _architecture_names(test)


def _architecture_names(test: ast.expr) -> set[str]:
    names = set()
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Constant):
            continue
        if isinstance(node.ops[0], ast.In) and getattr(node.comparators[0], "attr", "") == "architectures":
            names.add(str(node.left.value))
    return names


def _draft_backends(srt: str) -> dict[str, Any]:
    """What the DFLASH draft worker takes as it is: a literal in its worker, or the command line's choices."""
    for name in ("dflash_worker.py", "dflash_worker_v2.py"):
        path = os.path.join(srt, "speculative", name)
        if os.path.exists(path):
            for node in ast.walk(parse(path)):
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "supported_draft_backends":
                    return {"dflash_draft_backends": strings(node.value)}
            return {"dflash_draft_backends": _choices(srt)["draft_attention_backend_choices"]}
    return {"dflash_draft_backends": None}
