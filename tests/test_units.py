import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import UsageError
from surefoot.units import binary, both, decimal, parse_bytes


def test_the_founding_case_tells_gb_from_gib() -> None:
    assert parse_bytes("595 GB") == 595_000_000_000
    assert parse_bytes("593 GB") < parse_bytes("595 GB") < parse_bytes("593 GiB") == 593 * 2**30
    assert both(595_000_000_000) == "595.00 GB (554.14 GiB)"


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("1024", 1024), ("1.5 GiB", 3 * 2**29), ("2kb", 2000), ("0.1 GB", 10**8)]
)
def test_parse(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "595G", "-1 GB", "1e9", "GB", "1 XB", "1,5 GB"])
def test_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="not a size"):
        parse_bytes(text)


@given(st.integers(min_value=0, max_value=2**60))
def test_bare_bytes_round_trip(size: int) -> None:
    assert parse_bytes(str(size)) == size
    assert parse_bytes(f"{size} B") == size


def test_small_sizes_stay_exact() -> None:
    assert decimal(999) == "999 B"
    assert decimal(1000) == "1.00 kB"
    assert binary(1023) == "1023 B"
    assert binary(2**20) == "1.00 MiB"
