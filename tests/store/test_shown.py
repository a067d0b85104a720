"""What an operator sees: conversations, what they wait for, and why one went before another."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fairlead import Store
from fairlead.errors import MessageError, PrunedError
from fairlead.store.conversation import Conversation
from fairlead.store.leasing import StoreWork

SHOP = """
[[message_type]]
name = "Order"
[[message_type]]
name = "Confirmation"
[[contract]]
name = "Orders"
initiator = ["Order"]
target = ["Confirmation"]
[[service]]
name = "Client"
queue = "clients"
[[service]]
name = "Shop"
queue = "shop"
contracts = ["Orders"]
max_readers = 3
[[service]]
name = "Other"
queue = "shop"
"""


class Clock:
    """A clock that goes on by itself, and by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(url: str, opened: Callable[..., Store], clock: Clock, tmp_path: Path) -> Store:
    path = tmp_path / "shop.toml"
    path.write_text(SHOP)
    store = opened(url, clock=clock)
    store.declare(path)
    return store


def begun(store: Store, **more: Any) -> Conversation:
    """A dialog in which one message was sent."""
    found = store.begin_dialog("Client", "Shop", **more)
    found.send("Order", "a book")
    return found


def accept(store: Store, queue: str = "shop") -> str:
    """Take a group, read it and accept it; its name."""
    work = store.take(queue)
    assert work is not None
    list(work)
    work.accept()
    return work.group


# -------- conversations


def test_an_open_dialog_is_shown_with_both_ends(store: Store) -> None:
    mine = begun(store, lifetime=1000)
    mine.timer(60)
    mine.prioritise(200)
    (found,) = store.conversations()
    assert (found.dialog, found.contract, found.far_service) == (mine.dialog, "Orders", "Shop")
    assert found.lifetime is not None
    assert round(found.lifetime - found.began) == 1000
    near, far = found.initiator, found.target
    assert far is not None
    assert (near.side, near.service, near.queue, near.group) == (
        *("initiator", "Client", "clients"),
        mine.group,
    )
    assert (far.side, far.service, far.queue) == ("target", "Shop", "shop")
    assert (near.waiting, far.waiting, near.sent, far.sent) == (0, 1, 1, 0)
    assert (near.priority, far.priority, near.held, far.held) == (None, 200, False, False)
    assert near.timer is not None
    assert 0 < near.timer - found.began < 100
    assert far.timer is None


def test_a_reader_is_shown_while_it_holds_the_group(store: Store) -> None:
    begun(store).prioritise(7)
    work = store.take("shop")
    assert work is not None
    end = store.conversations()[0].target
    assert end is not None
    assert (end.held, end.priority, end.waiting) == (True, 7, 1)
    assert end.reader
    list(work)
    work.accept()
    end = store.conversations()[0].target
    assert end is not None
    assert (end.held, end.reader, end.waiting) == (False, "", 0)


def test_states_are_those_that_a_conversation_says(store: Store, clock: Clock) -> None:
    silent = store.begin_dialog("Client", "Shop")
    talking, over = begun(store), begun(store, lifetime=1000)
    ended = begun(store)
    ended.end()
    bad = store.begin_dialog("Client", "Shop")
    bad.send("Order", "")
    clock.now += 2000
    shown = {each.dialog: each for each in store.conversations()}
    for each in (silent, talking, over, ended, bad):
        found = shown[each.dialog]
        assert found.initiator.state == each.state
        for end in store.ends(each.dialog):
            side = found.initiator if end.side == "initiator" else found.target
            assert side is not None
            assert side.state == end.state
    assert shown[silent.dialog].target is None
    assert shown[over.dialog].initiator.state == "failed"
    assert shown[ended.dialog].target.state == "ended-by-other"  # type: ignore[union-attr]


def test_a_dialog_that_has_ended_on_both_sides_is_not_shown(store: Store) -> None:
    mine = begun(store)
    for end in store.ends(mine.dialog):
        end.end()
    assert store.conversations() == []
    with pytest.raises(MessageError, match=f"dialog: found '{mine.dialog}', allowed: one that is"):
        store.dialog(mine.dialog)


def test_no_row_has_an_id_of_an_end(store: Store) -> None:
    mine = begun(store)
    ids = [end.id for end in store.ends(mine.dialog)]
    assert mine.id in ids
    assert len(ids) == 2
    shown = repr((store.conversations(), store.dialog(mine.dialog)))
    shown += repr((store.dialog_waits(mine.dialog), store.services()))
    assert not any(id_ in shown for id_ in ids)


def test_pages_go_on_after_a_dialog(store: Store) -> None:
    names = [begun(store).dialog for _ in range(5)][::-1]
    first = store.conversations(most=2)
    assert [each.dialog for each in first] == names[:2]
    rest = store.conversations(before=first[-1].dialog)
    assert [each.dialog for each in rest] == names[2:]
    assert store.conversations(most=0) == []


def test_a_service_is_found_at_either_end(store: Store) -> None:
    with_shop = begun(store)
    also = store.begin_dialog("Other", "Shop")
    assert [each.dialog for each in store.conversations("Client")] == [with_shop.dialog]
    assert [each.dialog for each in store.conversations("Shop")] == [with_shop.dialog]
    also.send("Order", "")
    assert [each.dialog for each in store.conversations("Shop")] == [also.dialog, with_shop.dialog]
    older = store.conversations("Shop", before=also.dialog)
    assert [each.dialog for each in older] == [with_shop.dialog]
    with pytest.raises(MessageError, match=r"service: found 'Shpo'.*did you mean 'Shop'"):
        store.conversations("Shpo")


@pytest.mark.parametrize("dialog", ["", "17", "d-", "d-0", "d-1/x", "d-x", "d-" + "9" * 30, 17])
def test_what_is_no_dialog_is_refused(store: Store, dialog: Any) -> None:
    with pytest.raises(MessageError, match=r"dialog: found .*, allowed: a name such as d-17"):
        store.dialog(dialog)


def test_services_are_shown_with_their_contracts(store: Store) -> None:
    begun(store)
    client, other, shop = store.services()
    assert (client.service, client.contracts, client.open) == ("Client", [], 1)
    assert (shop.service, shop.queue, shop.max_readers, shop.open) == ("Shop", "shop", 3, 1)
    assert [each.name for each in shop.contracts] == ["Orders"]
    assert other.open == 0


@contextmanager
def counted(store: Store) -> Iterator[list[str]]:
    """The names of the statements that are run."""
    names: list[str] = []
    with store._connection() as database:
        kind = type(database)
        run = kind.run

        def noted(self: Any, name: str, /, **values: Any) -> Any:
            names.append(name)
            return run(self, name, **values)

        kind.run = noted  # type: ignore[method-assign]
        try:
            yield names
        finally:
            kind.run = run  # type: ignore[method-assign]


def test_a_page_is_read_in_as_many_statements_as_one_row(store: Store) -> None:
    begun(store)
    with counted(store) as one:
        store.conversations()
    for _ in range(20):
        begun(store)
    with counted(store) as many:
        assert len(store.conversations()) == 20
    assert many == one
    assert len(one) <= 5


# -------- why it waits


def whys(store: Store, dialog: str) -> list[str]:
    return [each.why for each in store.dialog_waits(dialog)]


def test_what_waits_is_said_in_its_order(store: Store) -> None:
    mine = begun(store)
    mine.send("Order", "a lamp")
    far = store.ends(mine.dialog)[1]
    far.send("Confirmation", "")
    far.end((17, "closed"))
    near, gone = store.dialog_waits(mine.dialog)
    assert [each.type for each in near.messages] == ["Error", "Confirmation"]
    assert (gone.messages, gone.why) == ([], "this end has ended")
    assert near.messages[1].id == f"{mine.dialog}/t/0"


def test_the_place_in_the_queue_is_said_with_who_gave_it(store: Store) -> None:
    first, second, third = begun(store), begun(store), begun(store)
    third.prioritise(200)
    actor = store._context.actor
    nothing, why = whys(store, third.dialog)
    assert nothing == "nothing waits"
    assert why.startswith(f"group {third.dialog}/t: raised to 200 by {actor} at 2001-")
    assert why.endswith(", no group goes before it")
    assert whys(store, first.dialog)[1].endswith("/t: not raised, 1 group goes before it")
    assert whys(store, second.dialog)[1].endswith("/t: not raised, 2 groups go before it")


def test_a_reader_a_delay_and_a_queue_that_is_off_are_reasons(store: Store) -> None:
    mine = begun(store)
    work = store.take("shop", lease=10**6)
    assert work is not None
    assert f"held by reader {store._context.actor} since 2001-" in whys(store, mine.dialog)[1]
    work.release(delay=1000)
    assert "released, not before 2001-" in whys(store, mine.dialog)[1]
    store.switch("shop", on=False, reason="stock taking")
    why = whys(store, mine.dialog)[1]
    assert "queue shop is switched off since 2001-" in why
    assert f": stock taking, by {store._context.actor}" in why


def test_a_queue_that_failures_switched_off_says_which_group_it_was(store: Store) -> None:
    store.set_limits("q", max_failures=1, poison="off")
    store.send("q", "", group="g")
    assert store.off("q") is None
    with store.transaction(store.take("q")) as tx:
        tx.release(error="no\x1b[31m paper")
    off = store.off("q")
    assert off is not None
    assert off.since is not None
    assert off.why.startswith("group 'g' failed 1 times in a row: no")
    row = next(each for each in store.queues() if each.queue == "q")
    assert (row.enabled, row.off_since, row.off_why) == (False, off.since, off.why)
    store.switch("q", on=True)
    row = next(each for each in store.queues() if each.queue == "q")
    assert (row.enabled, row.off_since, row.off_why) == (True, None, "")


def test_a_queue_that_was_off_before_all_that_is_kept_says_so(store: Store, clock: Clock) -> None:
    store.send("q", "")
    store.switch("q", on=False)
    clock.now += 1000
    store.send("q", "")
    store.prune(100)
    assert str(store.off("q")) == "switched off, since before the first event that is kept"
    row = next(each for each in store.queues() if each.queue == "q")
    assert (row.enabled, row.off_since, row.off_why) == (False, None, "")


# -------- why one went before another


def test_a_raised_dialog_went_first(store: Store) -> None:
    early, late = begun(store), begun(store)
    late.prioritise(200)
    assert [accept(store), accept(store)] == [f"{late.dialog}/t", f"{early.dialog}/t"]
    found = store.explain_order("shop", late.dialog, early.dialog)
    assert found.as_asked
    assert found.decided == (
        f"{late.dialog}/t before {early.dialog}/t: {late.dialog}/t was raised, "
        f"{early.dialog}/t was not"
    )
    one, two = found.first, found.second
    assert (one.priority, one.raised_by, two.priority) == (200, store._context.actor, None)
    assert one.came is not None
    assert two.came is not None
    assert two.came < one.came
    assert one.taken is not None
    assert two.taken is not None
    assert one.taken < two.taken
    assert len(str(found).splitlines()) == 3


def test_a_claim_that_is_the_other_way_round_is_said_to_be_so(store: Store) -> None:
    for group in ("a", "b"):
        store.send("q", "", group=group)
    accept(store, "q")
    found = store.explain_order("q", "b", "a")
    assert not found.as_asked
    assert str(found).startswith("the other way round: a was taken, and b was not at all\nb: ")
    accept(store, "q")
    found = store.explain_order("q", "b", "a")
    assert str(found).startswith("the other way round: a was taken before b\nb: ")
    assert "a before b: neither was raised; it arrived earlier" in found.decided


def test_of_two_that_were_not_taken_it_says_how_they_stand(store: Store) -> None:
    for group in ("a", "b"):
        store.send("q", "", group=group)
    store.prioritise("q", "b", 3)
    found = store.explain_order("q", "a", "b")
    assert not found.as_asked
    assert str(found).startswith("neither a nor b was taken\n")
    assert found.decided == "as they stand now: b before a: b was raised, a was not"
    store.send("q", "", group="c", delay=1000)
    assert store.explain_order("q", "c", "a").decided == (
        "neither was taken, and they do not both wait now"
    )


def test_the_higher_of_two_priorities_decides(store: Store) -> None:
    for group, priority in (("a", 3), ("b", 9), ("c", 9)):
        store.send("q", "", group=group, priority=priority)
    for _ in "abc":
        accept(store, "q")
    assert store.explain_order("q", "b", "a").decided == ("b before a: the higher priority: 9 > 3")
    assert store.explain_order("q", "b", "c").decided.startswith(
        "b before c: both at priority 9; it was entered earlier: "
    )


def test_ageing_decides_as_the_key_has_it(store: Store, clock: Clock) -> None:
    store.set_order("q", ageing=10)
    store.send("q", "", group="old", priority=5)
    clock.now += 1000
    store.send("q", "", group="new", priority=9)
    for _ in range(2):
        accept(store, "q")
    found = store.explain_order("q", "old", "new")
    assert found.as_asked
    assert found.ageing == 10
    assert found.decided.startswith("old before new: 10")
    assert "ageing: 10 s are worth a step of priority" in str(found)


def test_what_a_reader_held_was_not_there(store: Store) -> None:
    store.send("q", "", group="a")
    work = store.take("q", lease=10**6)
    assert work is not None
    list(work)
    store.send("q", "", group="a", priority=9)
    store.send("q", "", group="b")
    accept(store, "q")
    found = store.explain_order("q", "b", "a")
    assert not found.as_asked
    assert found.decided == "nothing of b waited when a was taken"
    work.accept()
    accept(store, "q")
    found = store.explain_order("q", "b", "a")
    assert found.as_asked
    assert found.decided == "a was in the hands of a reader when b was taken"
    assert found.second.reader == store._context.actor
    assert "held by reader" in str(found.second)


def test_a_delay_that_was_not_over_is_the_reason(store: Store, clock: Clock) -> None:
    store.send("q", "", group="a")
    work = store.take("q")
    assert work is not None
    work.release(delay=100)
    store.send("q", "", group="b")
    assert accept(store, "q") == "b"
    clock.now += 200
    assert accept(store, "q") == "a"
    found = store.explain_order("q", "b", "a")
    assert (found.as_asked, found.second.parked) == (True, True)
    assert ", released with a delay that was not over, " in str(found.second)
    assert "delay" not in str(found.first)
    assert found.decided == "the delay of a, which was released, was not over when b was taken"


def test_what_was_taken_by_its_name_was_out_of_turn(store: Store) -> None:
    for group in ("a", "b"):
        store.send("q", "", group=group)
    work = store.take("q", group="b")
    assert work is not None
    found = store.explain_order("q", "b", "a")
    assert found.as_asked
    assert found.decided.startswith("b was taken out of turn (a before b: neither was raised")


def test_what_was_released_stands_as_it_was_raised(store: Store) -> None:
    store.send("q", "", group="a")
    store.send("q", "", group="b", priority=9)
    work = store.take("q")
    assert work is not None
    work.release()
    assert accept(store, "q") == "b"
    assert store.explain_order("q", "b", "a").decided == "b before a: b was raised, a was not"


def test_between_tenants_it_is_the_charge_that_decides(store: Store) -> None:
    store.send("q", "", group="a", tenant="x")
    store.send("q", "", group="b", tenant="y", priority=9)
    assert accept(store, "q") == "a"
    found = store.explain_order("q", "a", "b")
    assert found.as_asked
    assert found.decided.startswith("a before b: tenant x was next, not tenant y")


def test_a_dialog_that_has_ended_is_still_explained(store: Store) -> None:
    early, late = begun(store), begun(store)
    late.prioritise(200)
    accept(store)
    for mine in (early, late):
        for end in store.ends(mine.dialog):
            end.end(cleanup=True)
    assert store.conversations() == []
    found = store.explain_order("shop", late.dialog, early.dialog)
    assert (found.as_asked, found.first.group) == (True, f"{late.dialog}/t")


def test_what_an_end_was_told_before_it_ended_waits_no_more(store: Store) -> None:
    gone, there = begun(store), begun(store)
    store.ends(gone.dialog)[1].end(cleanup=True)
    accept(store)
    found = store.explain_order("shop", there.dialog, gone.dialog)
    assert found.as_asked
    assert found.decided == (f"nothing of {gone.dialog}/t waited when {there.dialog}/t was taken")


def test_it_is_the_same_on_pages_of_events(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.store.queues.explain_order.PAGE", 2)
    for _ in range(5):
        store.send("q", "", group="a")
    store.send("q", "", group="b", priority=9)
    for _ in range(2):
        accept(store, "q")
    assert store.explain_order("q", "b", "a").decided == "b before a: b was raised, a was not"


def test_what_the_journal_has_forgotten_is_said_in_one_line(store: Store, clock: Clock) -> None:
    for group in ("a", "b"):
        store.send("q", "", group=group)
        accept(store, "q")
    clock.now += 1000
    store.send("q", "", group="c")
    store.prune(100)
    with pytest.raises(PrunedError, match=r"found too few events of group 'a'.*since 2001-") as no:
        store.explain_order("q", "a", "b")
    assert len(str(no.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        ("a", "z", "explain: found 'z', allowed: a group of queue 'q', or a dialog such as d-17"),
        ("a", "a", "which is one group, allowed: two groups"),
        ("", "a", "explain: found an empty name"),
        ("a\n", "a", "first: found"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    store: Store, first: str, second: str, line: str
) -> None:
    store.send("q", "", group="a")
    with pytest.raises(MessageError) as no:
        store.explain_order("q", first, second)
    assert line in str(no.value)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("step", [0, 4])
def test_each_take_of_a_random_history_is_explained(
    store: Store, clock: Clock, seed: int, step: int
) -> None:
    """Whoever is taken stands before all that wait; `waiting` says who these are."""
    random = Random(seed)  # noqa: S311 - a history, no secret
    store.set_order("q", ageing=step)
    hands: list[StoreWork] = []
    for _ in range(40):
        group, raised = random.choice("abcdef"), random.choice([None, None, 1, 7, 7, 200])
        done = random.randrange(5)
        clock.now += random.choice([0, 0, 3, 30])
        if done < 2:
            delay = random.choice([0, 0, 0, 20])
            store.send("q", "", group=group, priority=raised, delay=delay)
        elif done == 2:
            store.prioritise("q", group, raised)
        elif done == 3 and hands:
            work = hands.pop(random.randrange(len(hands)))
            if random.random() < 0.5:
                list(work)
                work.accept()
            else:
                work.release(delay=random.choice([0, 15]))
        else:
            ranks = {each.group: each for each in store.waiting("q", 10).ranks}
            work = store.take("q", lease=10**6)  # type: ignore[assignment]
            if work is None:
                continue
            hands.append(work)
            for other in ranks.keys() - {work.group}:
                found = store.explain_order("q", work.group, other)
                assert found.as_asked
                assert found.first.taken == work.taken
                assert found.first.priority == work.priority == ranks[work.group].priority
                assert found.second.priority == ranks[other].priority
                assert "out of turn" not in found.decided
                assert f"{work.group} before {other}: " in found.decided
            for held in hands[:-1]:
                found = store.explain_order("q", work.group, held.group)
                if not found.as_asked or found.first.taken != work.taken:
                    continue
                assert "in the hands of a reader" in found.decided
