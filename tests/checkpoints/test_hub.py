"""The real client against a real server: what each answer of a hub turns into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from surefoot.checkpoints import hub_requests
from surefoot.checkpoints.checkpoint import understand
from surefoot.checkpoints.folder import read_folder
from surefoot.checkpoints.hub import read_hub
from surefoot.checkpoints.inspection import take_all
from surefoot.checkpoints.snapshot import Gate, Origin, Snapshot
from surefoot.errors import InputError
from surefoot.evidence import Level

Make = Callable[..., Path]


def add(hub: Any, folder: Path, name: str = "acme/tiny", **how: Any) -> None:
    module = type(hub).__init__.__globals__
    hub.repositories[name] = module["Repository"](folder, **how)


def codes(snapshot: Snapshot) -> dict[str, Level]:
    return {entry.code: entry.level for entry in (*snapshot.access.findings, *snapshot.findings)}


def test_a_public_repository_reads_like_its_folder(hub: Any, make_model: Make, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m", shards=5)
    add(hub, folder)
    lines: list[str] = []
    seen = read_hub("acme/tiny", None, lines.append)
    local = read_folder(folder)
    assert (seen.tensors, seen.index, seen.documents) == (local.tensors, local.index, local.documents)
    assert {file.path: file.size for file in seen.files} == {file.path: file.size for file in local.files}
    assert (seen.access.gate, seen.access.granted, seen.findings) == (Gate.OPEN, True, ())
    assert seen.revision is not None
    assert seen.revision.startswith("c0ffee")
    assert len(lines) == len(hub.requests) == 2 + 2 + 5
    assert all("range" in headers for path, headers in hub.requests if path.endswith(".safetensors"))


@pytest.mark.parametrize("gated", ["auto", "manual"])
def test_gated_without_a_token(hub: Any, model_folder: Path, gated: str) -> None:
    add(hub, model_folder, gated=gated)
    seen = read_hub("acme/tiny", None, None)
    assert seen.access.granted is False
    assert seen.access.gate is (Gate.GATED_MANUAL if gated == "manual" else Gate.GATED)
    (finding,) = seen.access.findings
    assert (finding.level, finding.code) == (Level.BLOCKER, "access-gated")
    assert finding.remedy == f"accept the terms at {hub.url}/acme/tiny, then hf auth login, or set HF_TOKEN"
    assert seen.files
    assert not seen.documents


@pytest.mark.parametrize(
    ("gated", "denial", "remedy"),
    [
        ("auto", "not in the authorized list", "accept the terms"),
        ("manual", "not in the authorized list", "ask for access"),
        ("manual", "Your request is awaiting a review", "wait for its owner"),
        (
            "auto",
            "Please enable access to public gated repositories in your fine-grained token settings",
            "allow",
        ),
    ],
)
def test_gated_with_a_token_that_is_not_let_in(
    hub: Any, model_folder: Path, monkeypatch: pytest.MonkeyPatch, gated: str, denial: str, remedy: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    add(hub, model_folder, gated=gated, denial=denial)
    access = read_hub("acme/tiny", None, None).access
    assert (access.granted, access.token) == (False, "environment")
    assert access.findings[0].remedy is not None
    assert access.findings[0].remedy.startswith(remedy)
    assert "hf_good" not in repr(access)


def test_gated_and_let_in(hub: Any, model_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_good\n")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    add(hub, model_folder, gated="manual", allowed={"hf_good"})
    seen = read_hub("acme/tiny", "main", None)
    assert (seen.access.granted, seen.access.token) == (True, "file")
    assert seen.tensors


def test_private_missing_disabled_and_a_wrong_token(
    hub: Any, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(hub, model_folder, "acme/private", private=True)
    add(hub, model_folder, "acme/disabled", disabled=True)
    assert read_hub("acme/private", None, None).access.gate is Gate.HIDDEN
    assert read_hub("acme/none", None, None).access.gate is Gate.HIDDEN
    assert read_hub("acme/disabled", None, None).access.gate is Gate.DISABLED
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    assert read_hub("acme/none", None, None).access.gate is Gate.MISSING
    monkeypatch.setenv("HF_TOKEN", "hf_stale")
    assert codes(read_hub("acme/private", None, None)) == {"token-invalid": Level.BLOCKER}


def test_an_unknown_revision(hub: Any, model_folder: Path) -> None:
    add(hub, model_folder)
    assert codes(read_hub("acme/tiny", "v9", None)) == {"revision-missing": Level.BLOCKER}


@pytest.mark.parametrize("fault", ["429-once", "500-once", "truncated-once"])
def test_passing_trouble_is_retried(hub: Any, model_folder: Path, fault: str) -> None:
    add(hub, model_folder, fault=lambda path: fault if path == "config.json" else None)
    seen = read_hub("acme/tiny", None, None)
    assert seen.document("config.json")
    assert seen.findings == ()


@pytest.mark.parametrize("fault", ["500", "truncated"])
def test_lasting_trouble_is_unknown_not_ok(hub: Any, model_folder: Path, fault: str) -> None:
    add(hub, model_folder, fault=lambda path: fault if path == "config.json" else None)
    seen = read_hub("acme/tiny", None, None)
    assert codes(seen) == {"file-unreadable": Level.UNKNOWN}
    assert seen.tensors


def test_a_hub_that_fails_throughout(hub: Any, model_folder: Path) -> None:
    add(hub, model_folder, fault=lambda path: "500")
    seen = read_hub("acme/tiny", None, None)
    assert seen.access.granted is None
    assert codes(seen) == {"hub-unreachable": Level.UNKNOWN}


def test_a_hub_that_is_not_there(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert codes(read_hub("acme/tiny", None, None)) == {"hub-unreachable": Level.UNKNOWN}


@pytest.mark.parametrize("fault", ["wrong-length", "no-range"])
def test_odd_answers_to_range_requests(hub: Any, model_folder: Path, fault: str) -> None:
    add(hub, model_folder, fault=lambda path: fault if path.endswith(".safetensors") else None)
    seen = read_hub("acme/tiny", None, None)
    if fault == "no-range":
        assert seen.findings == ()
    else:
        assert codes(seen) == {"file-unreadable": Level.UNKNOWN}


def test_a_redirect_elsewhere_does_not_take_the_token_along(
    hub: Any, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    other = type(hub)()
    try:
        add(other, model_folder)
        hub.elsewhere = other.url.replace("127.0.0.1", "localhost")
        add(hub, model_folder, fault=lambda path: "redirect" if path.endswith(".safetensors") else None)
        seen = read_hub("acme/tiny", None, None)
        assert seen.tensors
        assert all("authorization" in headers for _, headers in hub.requests)
        assert other.requests
        assert not any("authorization" in headers for _, headers in other.requests)
    finally:
        other.close()


def test_many_shards_are_few_round_trips_deep(hub: Any, make_model: Make, tmp_path: Path) -> None:
    add(hub, make_model(tmp_path / "m", shards=64))
    seen = read_hub("acme/tiny", None, None)
    assert understand(seen).weights.files == 64
    assert len(hub.requests) == 2 + 2 + 64


def test_target_and_drafter_are_asked_at_once(hub: Any, model_folder: Path) -> None:
    add(hub, model_folder)
    add(hub, model_folder, "acme/draft", gated="auto")
    target, drafter = take_all(("acme/tiny", "acme/draft"), None)
    assert (target.access.granted, drafter.access.granted) == (True, False)


def test_offline_without_a_cache(hub: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="not in the cache"):
        read_hub("acme/tiny", None, None)


def test_a_hub_slower_than_the_timeout_is_unknown(
    hub: Any, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_requests, "TIMEOUT", 0.2)
    hub.latency = 0.6
    add(hub, model_folder)
    assert codes(read_hub("acme/tiny", None, None)) == {"hub-unreachable": Level.UNKNOWN}


def test_offline_reads_what_the_cache_holds(
    hub: Any, model_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache = tmp_path / "cache" / "models--acme--tiny"
    commit = "ab" * 20
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text(commit)
    (cache / "snapshots").mkdir()
    model_folder.rename(cache / "snapshots" / commit)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    seen = read_hub("acme/tiny", None, None)
    assert (seen.origin, seen.revision, seen.reference) == (Origin.CACHE, commit, "acme/tiny")
    assert seen.tensors
    assert hub.requests == []
