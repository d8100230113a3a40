"""Installed first, then the published release; a version nobody read is said to be unseen."""

from __future__ import annotations

import pytest

from surefoot.engines import Engine, Engines
from surefoot.errors import UsageError
from surefoot.hosts import Host
from surefoot.machines import known_machine
from surefoot.preflight.engine_choice import choose_engine

from .conftest import codes, judged, kimi

HERE = Host(known_machine("h100x8"))


def test_what_is_installed_comes_first() -> None:
    own = Engine(kind="sglang", package="/opt/sglang", version="0.5.20")
    host = Host(HERE.machine, Engines((own,)))
    assert choose_engine(host, None).engine is own
    assert choose_engine(host, "sglang").engine is own
    assert choose_engine(host, "sglang==0.5.11").engine.version == "0.5.11"
    assert "installed on" in choose_engine(host, "sglang==0.5.20").seen


def test_without_a_version_the_newest_release_read() -> None:
    assert choose_engine(HERE, "sglang").engine.version == "0.5.23"
    assert choose_engine(HERE, "vllm").engine.kind == "vllm"
    assert choose_engine(HERE, None).engine.kind == "sglang"


@pytest.mark.parametrize(
    ("version", "near"), [("0.5.12", "0.5.11"), ("0.5.24", "0.5.23"), ("0.9", "0.5.23"), ("0.4.2", "0.5.11")]
)
def test_an_unread_version_is_said_to_be_unseen(version: str, near: str) -> None:
    chosen = choose_engine(HERE, f"sglang=={version}")
    assert not chosen.read
    assert near in chosen.seen
    assert chosen.engine.version == version
    assert codes(judged(kimi(engine=f"sglang=={version}"), "plain"))["engine-never-read"] == "warning"


@pytest.mark.parametrize("name", ["tensorrt", "sglang==", "SGLang", "==0.5.11"])
def test_other_names_are_wrong_use(name: str) -> None:
    with pytest.raises(UsageError):
        choose_engine(HERE, name)


def test_the_embedded_engine_takes_its_own_pair_only() -> None:
    answer = judged(kimi(engine="surefoot"), "plain")
    assert codes(answer)["embedded-pair-only"] == "blocker"
