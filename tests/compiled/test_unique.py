"""Whether all texts are different is told exactly, also where the numbers made of them meet."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.compiled.unique import all_different, hash_each

SAME_NUMBER = ("8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ")
"""Two texts that are known to have one FNV-1a number."""


def number(text: str) -> int:
    data, out = text.encode(), np.zeros(1, np.uint64)
    hash_each(np.array([0, len(data)], np.int32), np.frombuffer(data, np.uint8), out)
    return int(out[0])


def test_the_numbers_are_those_that_are_published() -> None:
    assert number("foobar") == 0x85944171F73967E8
    assert number(SAME_NUMBER[0]) == number(SAME_NUMBER[1])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], True),
        ([""], True),
        (["", ""], False),
        ([*SAME_NUMBER, "x"], True),
        ([*SAME_NUMBER, "x", "x"], False),
        ([*SAME_NUMBER, SAME_NUMBER[0]], False),
    ],
    ids=str,
)
def test_texts_are_compared_where_their_numbers_meet(texts: list[str], expected: bool) -> None:
    assert all_different(pa.chunked_array([texts], pa.string())) is expected


@given(
    parts=st.lists(
        st.lists(st.one_of(st.text("aé", max_size=3), st.sampled_from(SAME_NUMBER)), max_size=6),
        max_size=4,
    ),
    start=st.integers(0, 3),
)
@settings(max_examples=300)
def test_it_is_told_of_tables_in_pieces(parts: list[list[str]], start: int) -> None:
    chunks = [pa.array(part, pa.string())[start:] for part in parts]
    texts = [text for part in parts for text in part[start:]]
    expected = len(set(texts)) == len(texts)
    assert all_different(pa.chunked_array(chunks, pa.string())) is expected
