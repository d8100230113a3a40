"""SGLang's own code for the static fraction, cut out of its published wheel and run on stand-ins."""

from __future__ import annotations

import ast
import copy
import re
import types
from typing import Any

from surefoot.checkpoints.architecture import Tower

VLM = ("KimiK25ForConditionalGeneration", "Qwen3VLForConditionalGeneration")


def functions(source: str, names: set[str]) -> str:
    """The source of the named functions and methods, dedented, in one module."""
    tree = ast.parse(source)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in names]
    for node in found:
        node.decorator_list = []
        node.returns = None
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
    module = ast.Module([*found], [])
    return ast.unparse(module)


def oracle_11(source: str, gpu: float, tp: int, mla: bool, tower: Tower | None, drafts: bool, name: str) -> float:
    """0.5.11: `ServerArgs._handle_gpu_memory_settings`."""
    names = {"_handle_gpu_memory_settings", "adjust_mem_fraction_for_vlm", "_generate_cuda_graph_batch_sizes",
             "_generate_piecewise_cuda_graph_tokens"}  # fmt: skip
    scope: dict[str, Any] = {"logger": types.SimpleNamespace(warning=print)}
    exec(functions(source, names), scope)
    vision = types.SimpleNamespace(num_hidden_layers=tower.layers, hidden_size=tower.hidden_size) if tower else None
    config = types.SimpleNamespace(
        is_multimodal=tower is not None, hf_config=types.SimpleNamespace(vision_config=vision)
    )
    args = types.SimpleNamespace(
        chunked_prefill_size=None, cuda_graph_max_bs=None, cuda_graph_bs=None, tp_size=tp, pp_size=1, dp_size=1,
        device="cuda", disable_cuda_graph_padding=False, speculative_algorithm="DFLASH" if drafts else None,
        speculative_num_draft_tokens=None, piecewise_cuda_graph_max_tokens=None, piecewise_cuda_graph_tokens=None,
        max_total_tokens=None, model_path="m", mem_fraction_static=None, max_prefill_tokens=16384,
        enable_dp_attention=False, disable_piecewise_cuda_graph=tower is not None, language_only=False,
        enable_symm_mem=False, use_mla_backend=lambda: mla, get_model_config=lambda: config,
    )  # fmt: skip
    for method in names - {"_handle_gpu_memory_settings"}:
        setattr(args, method, types.MethodType(scope[method], args))
    scope["_handle_gpu_memory_settings"](args, gpu)
    return float(args.mem_fraction_static)


def oracle_23(source: str, gpu: float, tp: int, mla: bool, tower: Tower | None, drafts: bool, name: str) -> float:
    """0.5.23: the headroom part of `handle_gpu_memory_settings`, with `reserve_for_graph_mb`."""
    scope: dict[str, Any] = {
        "resolving_view": lambda args: args, "resolved_view": lambda args: args, "copy": copy,
        "use_mla_backend": lambda args: mla, "attn_dp_enabled_of": lambda args: False,
        "Backend": types.SimpleNamespace(DISABLED="disabled", BREAKABLE="breakable"),
        "get_device_memory_capacity": lambda device: gpu, "post_capture_kv_sizing_planned": lambda args: False,
        "Phase": types.SimpleNamespace(PREFILL="prefill"),
        "envs": types.SimpleNamespace(), "get_platform": lambda: types.SimpleNamespace(is_xpu=False),
        "_DEFAULT_PP_PREFILL_CUDA_GRAPH_MAX_TOKENS": 0, "logger": types.SimpleNamespace(warning=print),
        "reserve_for_deepep_a2a_mb": lambda args: 0,
    }  # fmt: skip
    vision = types.SimpleNamespace(num_hidden_layers=tower.layers, hidden_size=tower.hidden_size) if tower else None
    config = types.SimpleNamespace(
        is_multimodal=tower is not None, hf_config=types.SimpleNamespace(vision_config=vision)
    )
    scope["model_config_of"] = lambda args: config

    def declare(args: Any, _where: str, **values: Any) -> None:
        for key, value in values.items():
            setattr(args, key, value)

    scope["declare_resolution"] = declare
    names = {"handle_gpu_memory_settings", "reserve_for_graph_mb", "adjust_mem_fraction_for_vlm"}
    text = re.sub(r"from sglang\.[\w.]+ import (\([^)]*\)|[^\n]*)", "pass", functions(source, names))
    exec(text, scope)
    scope["generate_decode_cuda_graph_batch_sizes"] = lambda args, largest: [largest]
    scope["generate_prefill_cuda_graph_batch_sizes"] = _capture
    scope["expand_multimodal_decode_graph_to_running_limit"] = lambda *args: None
    captured = tower is None or name == VLM[0]
    phase = types.SimpleNamespace
    graph = phase(
        decode=phase(max_bs=None, bs=None, backend="full"),
        prefill=phase(max_bs=None, bs=None, backend="breakable" if captured else "disabled"),
    )
    args = types.SimpleNamespace(
        device="cuda", cuda_graph_config=graph, chunked_prefill_size=None, tp_size=tp, pp_size=1,
        max_running_requests=None, max_total_tokens=None, model_path="m", mem_fraction_static=None, language_only=False,
        language_model_only=False, disaggregation_mode="null", speculative_num_draft_tokens=None,
        max_prefill_tokens=16384, moe_a2a_backend="none", enable_symm_mem=False, _cuda_graph_config_locked=set(),
    )  # fmt: skip
    scope["handle_gpu_memory_settings"](args)
    return float(args.mem_fraction_static)


def _capture(largest: int) -> list[int]:
    sizes = [*range(4, 33, 4), *range(48, 257, 16), *range(288, 513, 32), *range(576, 1025, 64)]
    sizes += [*range(1280, 4097, 256), *range(4608, largest + 1, 512)]
    return [size for size in sizes if size <= largest]
