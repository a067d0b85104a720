"""Who may do what, held against the plainest reading of a file; and how much there may be."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.config.serving import DEEDS, Limits, Refusal, Right, load_serving
from fairlead.errors import ConfigError
from fairlead.serve.limits import ConnectionCounts
from fairlead.serve.rights import MOST_KEPT, Rights
from fairlead.serve.wire.events import Condition

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


def test_a_name_that_nothing_has_is_refused_before_it_is_matched() -> None:
    found = Rights(
        [Right(user="*", address="shop-*-orders-*-new", may=["send"])], hosts=["*-a-*-b"]
    )
    long = "shop-" + "-orders-" * 25_000 + "-orders-x-new"
    assert not found.may("anna", "", long)
    assert not found._kept
    refused = found.refusal("anna", "", "send", long)
    assert refused is not None
    assert len(refused.description) < 500
    assert not found.knows("x" + "-a-" * 25_000 + "-b")


class Peer:
    """One who has not said who it is."""

    def __init__(self, counts: ConnectionCounts, host: str) -> None:
        self.counts, self.host, self.why = counts, host, ""

    def comes(self) -> str:
        why = self.counts.came(self.host, self)
        return "" if why is None else why.description

    def enters(self, user: str) -> bool:
        return self.counts.entered(self.host, self, user) is None

    def leaves(self, user: str | None = None) -> None:
        self.counts.left(self.host, self, user)

    def give_way(self, why: Condition) -> None:
        self.why = why.description
        self.leaves()


def test_connections_are_counted() -> None:
    counts = ConnectionCounts(Limits(connections=3, connections_each=2, unknown=2))
    one, two, three, four = (Peer(counts, f"10.0.{k}.1") for k in range(4))
    assert (one.comes(), two.comes()) == ("", "")
    assert (one.enters("anna"), two.enters("anna")) == (True, True)
    assert three.comes() == ""
    assert not three.enters("anna")  # it is still there
    assert four.comes() == ""
    assert three.why == "connections: found more than 3, allowed: 3"
    assert four.enters("berta")
    assert three.comes() == "connections: found more than 3, allowed: 3"
    assert (counts.all, counts.unknown_count, dict(counts.known)) == (3, 0, {"anna": 2, "berta": 1})
    for each, user in ((one, "anna"), (two, "anna"), (four, "berta")):
        each.leaves(user)
    assert (counts.all, dict(counts.known)) == (0, {})


def test_the_oldest_of_the_network_with_most_gives_way() -> None:
    counts = ConnectionCounts(Limits(unknown=4))
    alone = Peer(counts, "10.0.0.1")
    crowd = [Peer(counts, f"10.9.9.{k}") for k in range(9)]
    assert {each.comes() for each in (alone, *crowd)} == {""}
    assert [bool(each.why) for each in crowd] == [True] * 6 + [False] * 3
    assert crowd[0].why == (
        "connections that have not said whose they are: found more than 4, allowed: 4"
    )
    assert alone.enters("anna")
    for each in crowd[6:]:
        each.leaves()
    assert (counts.unknown_count, counts.all) == (0, 1)


def test_memory_has_an_end() -> None:
    counts = ConnectionCounts(Limits(message=10, memory=10))
    assert [counts.memory(k) is None for k in (0, 10, 11)] == [True, True, False]


def test_all_that_a_refusal_says_has_to_match() -> None:
    found = Rights(refused=[Refusal(user="anna", peer="10.0.0.7:*"), Refusal(container="b*")])
    said = [
        found.refusal_of_client(*each) is not None
        for each in [
            ("anna", "x", "10.0.0.7:5000"),
            ("anna", "x", "10.0.0.70:5000"),
            ("berta", "x", "10.0.0.7:5000"),
            ("berta", "box", ""),
            ("berta", "b" * 10**6, ""),
        ]
    ]
    assert said == [True, False, False, True, True]
    assert Rights().refusal_of_client("anna", "x", "10.0.0.7:5000") is None


def test_a_refusal_of_nobody_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text("[[refuse]]\n", "utf-8")
    with pytest.raises(ConfigError, match="found nothing, allowed: user, container, peer"):
        load_serving(file)
