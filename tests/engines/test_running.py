"""Running engines: found by how they were started, with nothing secret from their command lines."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from surefoot.engines.probe.running import running


def test_a_server_is_found_and_its_api_key_stays(tmp_path: Path) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").touch()
    (tmp_path / "sglang" / "launch_server.py").write_text("import time\ntime.sleep(60)\n")
    arguments = ["--model-path", "moonshotai/Kimi-K2.6", "--api-key", "sesame", "--port=30001", "--tp", "8"]
    server = subprocess.Popen([sys.executable, "-m", "sglang.launch_server", *arguments], cwd=tmp_path)
    try:
        for _ in range(50):
            found = [entry for entry in running() if entry["pid"] == server.pid]
            if found:
                break
            time.sleep(0.05)
        assert found[0]["kind"] == "sglang"
        assert found[0]["arguments"] == ["--model-path", "moonshotai/Kimi-K2.6", "--port=30001", "--tp", "8"]
        assert "sesame" not in json.dumps(running())
    finally:
        server.kill()
        server.wait()


def test_an_editor_with_an_engine_s_file_open_is_no_server(tmp_path: Path) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "edit.py").write_text("import time\ntime.sleep(60)\n")
    editor = subprocess.Popen([sys.executable, str(tmp_path / "sglang" / "edit.py")])
    try:
        time.sleep(0.2)
        assert editor.pid not in [entry["pid"] for entry in running()]
    finally:
        editor.kill()
        editor.wait()
