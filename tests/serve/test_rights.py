"""Who may do what, held against the plainest reading of a file; and how much there may be."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from fairlead.config.serving import DEEDS, Limits, Right
from fairlead.serve.limits import Counts
from fairlead.serve.rights import MOST_KEPT, Rights

WORDS = st.text("ab.*", min_size=1, max_size=4)
NAMES = st.text("ab.", max_size=4)
RIGHTS = st.builds(
    lambda user, address, host, may: Right(user=user, address=address, host=host, may=may),
    *(WORDS, WORDS, WORDS),
    st.lists(st.sampled_from(DEEDS), min_size=1, max_size=3),
)


@given(st.lists(RIGHTS, min_size=1, max_size=4), NAMES, NAMES, NAMES)
def test_rights_are_the_sum_of_all_that_match(
    rights: list[Right], user: str, host: str, address: str
) -> None:
    plain = {
        deed
        for each in rights
        if fnmatchcase(user, each.user)
        and fnmatchcase(host, each.host)
        and fnmatchcase(address, each.address)
        for deed in each.may
    }
    found = Rights(rights)
    assert found.may(user, host, address) == plain
    assert found.may(user, host, address) == plain  # remembered


def test_only_a_star_stands_for_others() -> None:
    found = Rights([Right(user="a?[b]", address="o.1", may=["send"])], hosts=["shop"])
    assert found.may("a?[b]", "any", "o.1") == {"send"}
    assert not found.may("axb", "any", "o.1")
    assert not found.may("a?[b]", "any", "ox1")
    assert not found.may("a?[b]\n", "any", "o.1")
    assert (found.knows("shop"), found.knows("Shop"), found.knows("")) == (True, False, False)


def test_without_rights_everybody_may_do_everything() -> None:
    assert Rights().may("anonymous", "", "orders") == {*DEEDS}
    assert Rights().knows("whatever")


def test_what_is_remembered_of_addresses_has_an_end() -> None:
    found = Rights([Right(user="*", may=["send"])])
    for k in range(MOST_KEPT + 2):
        found.may("anna", "", str(k))
    assert len(found._kept) == 2


def test_connections_are_counted() -> None:
    counts = Counts(Limits(connections=3, connections_each=2, unknown=2))
    assert [counts.came() for _ in range(2)] == [None, None]
    refused = counts.came()
    assert refused is not None
    assert refused.description == (
        "connections that have not said whose they are: found more than 2, allowed: 2"
    )
    assert [counts.entered("anna") for _ in range(2)] == [None, None]
    assert counts.came() is None
    assert counts.entered("anna") is not None
    assert counts.came() is not None  # the third is still there
    counts.left(None)
    counts.left("anna")
    assert counts.came() is None
    assert counts.entered("anna") is None
    assert (counts.all, counts.unknown, dict(counts.known)) == (2, 0, {"anna": 2})
    counts.left("anna")
    counts.left("anna")
    assert (counts.all, dict(counts.known)) == (0, {})


def test_memory_has_an_end() -> None:
    counts = Counts(Limits(message=10, memory=10))
    assert [counts.memory(k) is None for k in (0, 10, 11)] == [True, True, False]
