"""Hold Surefoot's copy of SGLang's memory rules against SGLang's own code, taken out of its published wheel.

    python bench/sglang_fractions.py sglang-0.5.11-….whl sglang-0.5.23-….whl

The functions that compute the static fraction are cut out of the wheel and run on stand-ins for the server
arguments, over GPUs, parallel sizes, attention kinds, towers and strategies. Nothing of SGLang is imported, no
GPU is needed. Prints the largest difference; exit code 1 when any fraction differs by more than 0.0005.
"""

from __future__ import annotations

import ast
import copy
import itertools
import re
import sys
import types
import zipfile
from typing import Any

from surefoot.checkpoints.architecture import Architecture, Latent, Tower
from surefoot.preflight.memory.sglang_defaults import default_fraction, rules_for
from surefoot.preflight.options import Options, Speculation

GPUS = (16_376, 24_564, 32_607, 46_068, 81_559, 97_887, 143_771, 183_359, 275_040)
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


def model(mla: bool, tower: Tower | None, name: str) -> Architecture:
    """An architecture with no more than the rule looks at."""
    latent = Latent(1536, 512, 128, 64, 128) if mla else None
    return Architecture(
        classes=(name,), model_types=(), text_path="", family=None, layers=(), hidden_size=None,
        intermediate_size=None, vocab_size=None, context=None, dtype="bfloat16", tied_embeddings=False, gated_mlp=True,
        latent=latent, towers=(tower,) if tower else (),
    )  # fmt: skip


def compare(wheel: str) -> float:
    """The largest difference over all combinations."""
    version = wheel.rsplit("/", 1)[-1].split("-")[1]
    old = version == "0.5.11"
    with zipfile.ZipFile(wheel) as archive:
        path = "sglang/srt/server_args.py" if old else "sglang/srt/arg_groups/memory_hook.py"
        source = archive.read(path).decode()
    rules, worst, count = rules_for(version), 0.0, 0
    tower = Tower("vision", "vit", 27, 1152)
    for gpu, tp, mla, seen, drafts in itertools.product(
        GPUS, (1, 2, 4, 8), (False, True), (None, tower), (False, True)
    ):
        name = VLM[0] if mla else VLM[1] if seen else "Qwen3ForCausalLM"
        oracle = (oracle_11 if old else oracle_23)(source, gpu, tp, mla, seen, drafts, name)
        speculation = Speculation("dflash" if drafts else "plain")
        ours = default_fraction(rules, model(mla, seen, name), Options(tensor_parallel=tp), gpu, speculation)
        worst, count = max(worst, abs(ours - oracle)), count + 1
    print(f"sglang {version}: {count} combinations, largest difference {worst:.6f}")
    return worst


if __name__ == "__main__":
    sys.exit(max([compare(wheel) for wheel in sys.argv[1:]], default=0.0) > 0.0005)
