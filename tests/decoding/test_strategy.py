import pytest

from surefoot.decoding.strategy import DFLASH, PLAIN, ddtree, parse_strategies, parse_strategy
from surefoot.errors import UsageError


def test_names_round_trip() -> None:
    for name in ("plain", "dflash", "ddtree:1", "ddtree:1024"):
        assert str(parse_strategy(name)) == name


def test_a_list_keeps_its_order_and_drops_repeats() -> None:
    assert parse_strategies("ddtree:4, plain,dflash,plain") == (ddtree(4), PLAIN, DFLASH)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "unknown strategy"),
        ("eagle", "unknown strategy"),
        ("ddtree", "unknown strategy"),
        ("ddtree:x", "unknown strategy"),
        ("ddtree:0", "0 nodes"),
        ("ddtree:-3", "-3 nodes"),
        ("ddtree:1025", "1025 nodes"),
    ],
)
def test_wrong_names_are_wrong_use(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        parse_strategy(text)
    assert caught.value.exit_code == 2
    assert caught.value.remedy
