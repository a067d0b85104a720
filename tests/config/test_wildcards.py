"""Patterns of names, held against the plainest reading, and against names made to be slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.config.wildcards import wildcard


def plainly(pattern: str, name: str, *, one: bool) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(plainly(pattern[1:], name[k:], one=one) for k in range(len(name) + 1))
    if not name or not (pattern[0] == name[0] or (one and pattern[0] == "?")):
        return False
    return plainly(pattern[1:], name[1:], one=one)


@given(st.text("ab*?[]!\n", max_size=6), st.text("ab?[]!\n", max_size=6), st.booleans())
def test_a_star_is_any_characters(pattern: str, name: str, one: bool) -> None:
    assert bool(wildcard(pattern, one=one).match(name)) == plainly(pattern, name, one=one)


@pytest.mark.parametrize("stars", [2, 20])
def test_a_name_that_is_made_to_be_slow_is_not(stars: int) -> None:
    # each star that went back to look again would be a factor of 500
    pattern = wildcard("*a" * stars + "*b")
    assert not pattern.match("a" * 500)
