"""One part that hangs, crashes or raises leaves the others alone."""

import os
import signal
import time
from typing import Any

from surefoot.asking.commands import Unlearned
from surefoot.asking.parts import collect


def good(options: dict[str, Any]) -> Any:
    return {"said": options["word"]}


def hangs(options: dict[str, Any]) -> Any:
    time.sleep(600)


def crashes(options: dict[str, Any]) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def raises(options: dict[str, Any]) -> Any:
    raise ValueError("bad luck")


def cannot(options: dict[str, Any]) -> Any:
    raise Unlearned("nobody home")


def large(options: dict[str, Any]) -> Any:
    return "x" * 3_000_000


def test_failures_stay_where_they_happen_and_say_why() -> None:
    start = time.monotonic()
    answers = collect(
        [
            ("hangs", hangs, 0.5),
            ("good", good, 5.0),
            ("crashes", crashes, 5.0),
            ("raises", raises, 5.0),
            ("cannot", cannot, 5.0),
            ("large", large, 10.0),
        ],
        {"word": "hello"},
    )
    assert time.monotonic() - start < 5
    assert answers["good"]["value"] == {"said": "hello"}
    assert answers["hangs"]["unknown"] == "took longer than 0.5 s"
    assert answers["crashes"]["unknown"] == "crashed with signal 9"
    assert answers["raises"]["unknown"] == "ValueError: bad luck"
    assert answers["cannot"]["unknown"] == "nobody home"
    assert len(answers["large"]["value"]) == 3_000_000
    assert list(answers) == ["hangs", "good", "crashes", "raises", "cannot", "large"]
