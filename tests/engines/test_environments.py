"""Where engines hide: an unpacked wheel, a virtual environment, an editable install, a conda environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from surefoot.engines.probe.environments import environments


def package(site: Path, kind: str = "sglang", version: str = "0.5.11") -> None:
    (site / kind / {"sglang": "srt", "vllm": "platforms"}[kind]).mkdir(parents=True)
    (site / f"{kind}-{version}.dist-info").mkdir()


def found_in(path: Path) -> list[dict[str, Any]]:
    return [e for e in environments({"search": [str(path)]}, []) if str(path) in e["package"]]


def test_a_virtual_environment_with_an_odd_name(tmp_path: Path) -> None:
    site = tmp_path / "my [env] 'x'" / "lib" / "python3.11" / "site-packages"
    package(site)
    (tmp_path / "my [env] 'x'" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    python = tmp_path / "my [env] 'x'" / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    (site / "sgl_kernel-0.3.21.dist-info").mkdir()
    (site / "torch-2.11.0+cu130.dist-info").mkdir()
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_text("cuda: Optional[str] = '13.0'\n")
    plugin = site / "my_spec-1.0.dist-info"
    plugin.mkdir()
    (plugin / "entry_points.txt").write_text("[console_scripts]\nx = y\n[sglang.srt.plugins]\nspec = my.spec:load\n")
    (entry,) = found_in(tmp_path)
    assert entry["version"] == "0.5.11"
    assert entry["python"] == str(python)
    assert entry["packages"] == {"torch": "2.11.0+cu130", "sgl-kernel": "0.3.21"}
    assert entry["cuda"] == "13.0"
    assert entry["plugins"] == [{"group": "sglang.srt.plugins", "name": "spec", "value": "my.spec:load"}]


def test_an_editable_install_is_followed(tmp_path: Path) -> None:
    (tmp_path / "source tree" / "python" / "sglang" / "srt").mkdir(parents=True)
    info = tmp_path / "site" / "sglang-0.5.23.dist-info"
    info.mkdir(parents=True)
    url = f"file://{tmp_path}/source%20tree"
    (info / "direct_url.json").write_text(json.dumps({"url": url, "dir_info": {"editable": True}}))
    (entry,) = found_in(tmp_path)
    assert entry["package"] == str(tmp_path / "source tree" / "python" / "sglang")
    assert entry["version"] == "0.5.23"


def test_two_engines_in_one_place_and_one_place_found_twice(tmp_path: Path) -> None:
    package(tmp_path / "both")
    package(tmp_path / "both", "vllm", "0.33.0")
    (tmp_path / "again").symlink_to(tmp_path / "both")
    assert sorted((e["kind"], e["version"]) for e in found_in(tmp_path)) == [
        ("sglang", "0.5.11"),
        ("vllm", "0.33.0"),
    ]


@pytest.mark.parametrize(
    "text", ["__version__ = '0.5.12'\n", 'version: str = "0.5.12"\n', "__version__ = version = '0.5.12'"]
)
def test_a_version_without_metadata(tmp_path: Path, text: str) -> None:
    (tmp_path / "sglang" / "srt").mkdir(parents=True)
    (tmp_path / "sglang" / "version.py").write_text(text)
    assert [e["version"] for e in found_in(tmp_path)] == ["0.5.12"]


def test_a_folder_that_is_only_named_like_an_engine(tmp_path: Path) -> None:
    (tmp_path / "sglang").mkdir()
    assert found_in(tmp_path) == []
