"""The command: every flag of it is one that the engine's own parser has, and each has a reason."""

from __future__ import annotations

import re
import shlex
import zipfile

import pytest

from surefoot.engines import Resolution
from surefoot.preflight.options import Options, Workload
from surefoot.preflight.request import judge_resolution

from ..engines.conftest import wheel_of
from .conftest import entry, judged, kimi


def flags_of(version: str) -> set[str]:
    """Every `--flag` that SGLang's argument definitions spell out or derive from a field's name."""
    found: set[str] = set()
    with zipfile.ZipFile(wheel_of(f"sglang=={version}")) as wheel:
        for name in wheel.namelist():
            if name.endswith("srt/server_args.py") or "srt/arg_groups/" in name:
                text = wheel.read(name).decode()
                found |= set(re.findall(r"\"(--[a-z][a-z0-9-]+)\"", text))
                found |= {"--" + field.replace("_", "-") for field in re.findall(r"^    ([a-z_0-9]+): ", text, re.M)}
    return found


@pytest.mark.parametrize("version", ["0.5.11", "0.5.23"])
def test_the_engine_has_every_flag(version: str) -> None:
    options = Options(data_parallel=2, expert_parallel=8, chunked_prefill=4096)
    answer = judged(kimi("b200x8", f"sglang=={version}", options=options), "plain", "dflash")
    known = flags_of(version)
    for found in answer.strategies:
        assert found.launch is not None
        assert {flag.name for flag in found.launch.flags} <= known
        assert all(flag.reason for flag in found.launch.flags if flag.name != "--port")


def test_the_command_is_what_the_arguments_say() -> None:
    launch = entry(judged(kimi(), "dflash"), "dflash").launch
    assert launch is not None
    assert shlex.split(launch.command.replace("\\\n", " ")) == [*launch.program, *launch.arguments]
    assert ("HF_TOKEN", "a token that may read z-lab/Kimi-K2.6-DFlash") in launch.environment
    assert "hf_" not in launch.command


def test_nothing_the_plan_depends_on_is_left_to_a_default() -> None:
    launch = entry(judged(kimi(workload=Workload(16384, 3)), "dflash"), "dflash").launch
    assert launch is not None
    given = {flag.name: flag.value for flag in launch.flags}
    assert given["--context-length"] == "16384"
    assert given["--max-running-requests"] == given["--cuda-graph-max-bs"] == "3"
    assert given["--speculative-num-draft-tokens"] == "8"
    assert given["--speculative-draft-attention-backend"] == "triton"
    assert given["--kv-cache-dtype"] == "auto"


def test_vllm_s_command() -> None:
    launch = entry(judged(kimi("b200x8", "vllm==0.34.0"), "dflash"), "dflash").launch
    assert launch is not None
    given = {flag.name: flag.value for flag in launch.flags}
    assert given["--speculative-config"] == (
        '{"method": "dflash", "model": "z-lab/Kimi-K2.6-DFlash", "num_speculative_tokens": 7}'
    )
    assert given["--max-model-len"] == "32768"


def test_what_the_engine_makes_of_the_command() -> None:
    planned = entry(judged(kimi(), "dflash"), "dflash")
    assert planned.launch is not None
    resolved = {flag.name[2:].replace("-", "_"): flag.value for flag in planned.launch.flags}
    resolved["mem_fraction_static"] = float(resolved["mem_fraction_static"] or 0)  # type: ignore[assignment]
    agreed = judge_resolution(planned, Resolution("sglang", (), dict(resolved)))
    assert [finding.code for finding in agreed] == ["engine-agrees"]
    changed = judge_resolution(planned, Resolution("sglang", (), {**resolved, "attention_backend": "flashinfer"}))
    assert [(finding.code, str(finding.level)) for finding in changed] == [("engine-changes-flag", "warning")]
    refused = judge_resolution(planned, Resolution("sglang", (), error="ValueError: no"))
    assert [(finding.code, str(finding.level)) for finding in refused] == [("engine-refuses", "blocker")]
