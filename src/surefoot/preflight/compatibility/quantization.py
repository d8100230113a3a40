"""Whether the engine has a kernel for the checkpoint's format on this GPU."""

from __future__ import annotations

from collections.abc import Iterator

from surefoot.evidence import Fact, Finding, Level
from surefoot.preflight.case import Case

_NAMES = {
    "sglang": {
        "modelopt": {"NVFP4": "modelopt_fp4", "FP8": "modelopt_fp8"},
        "gptq": {"": "gptq_marlin"}, "awq": {"": "awq_marlin"},
    },
    "vllm": {"modelopt": {"NVFP4": "modelopt_fp4", "FP8": "modelopt"}},
}  # fmt: skip
"""Engine -> method in the checkpoint -> format ("" for any) -> method in the engine."""


def judge_quantization(case: Case) -> Iterator[Finding]:
    """One finding for the method, one for the kernel where it differs by GPU."""
    claims = [claim for claim in case.target.quantization.claims if claim.method]
    if not claims or case.engine.kind == "surefoot":
        if claims:
            message = f"the embedded engine reads no {case.target.quantization.label} weights"
            yield Finding(Level.BLOCKER, "quantization-unsupported", message, remedy="--engine sglang or vllm")
        return
    method = _method(case, claims[0].method or "", {name for claim in claims for name in claim.formats})
    if case.engine.quantization is None:
        yield Finding(Level.UNKNOWN, "quantization-unknown", f"what {case.engine.package} can load is unknown")
        return
    entry = next((known for known in case.engine.quantization if known.name == method), None)
    if entry is None:
        message = f"{case.engine.package} has no quantization method {method!r}"
        yield Finding(Level.BLOCKER, "quantization-missing", message, remedy="a newer version of the engine")
        return
    fact = Fact(f"minimum SM of {method}", entry.minimum_sm, case.engine_seen)
    if case.sm is None or entry.minimum_sm is None:
        yield Finding(Level.UNKNOWN, "quantization-sm", f"whether {method} runs on this GPU is unknown", (fact,))
    elif case.sm < entry.minimum_sm:
        message = f"{method} needs SM{entry.minimum_sm}, this GPU is SM{case.sm}"
        yield Finding(Level.BLOCKER, "quantization-sm", message, (fact,), "a checkpoint in another format")
    else:
        message = f"{case.target.quantization.label} loads as {method} on SM{case.sm}{_kernel(case)}"
        yield Finding(Level.OK, "quantization", message, (fact,))


def _method(case: Case, claimed: str, formats: set[str]) -> str:
    mapping = _NAMES.get(case.engine.kind, {}).get(claimed, {})
    return next((name for form, name in mapping.items() if form in formats or not form), claimed)


def _kernel(case: Case) -> str:
    """Which kernels SGLang takes for INT4 experts, where that was read."""
    quantization = case.target.quantization
    formats = {name for claim in quantization.claims for name in claim.formats}
    if case.engine.kind != "sglang" or "INT4" not in formats or case.target.model.moe is None or case.sm is None:
        return ""
    return ", experts on FlashInfer's MXINT4 kernels" if 100 <= case.sm < 110 else ", experts on Marlin kernels"
