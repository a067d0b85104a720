"""A reader who settles message by message, and keeps the group meanwhile."""

from __future__ import annotations

import pytest

from fairlead import Store
from fairlead.errors import StaleWorkError
from fairlead.store.leasing import StoreWork
from fairlead.store.queues.settlement import ACCEPTED, KEPT, REJECTED, RELEASE, Given, Settlement


def taken(store: Store) -> StoreWork:
    work = store.take("q")
    assert work is not None
    return work


def end(
    work: StoreWork, kind: str, numbers: list[int], *, keep: bool, dead: str = ""
) -> Settlement:
    held = work.held
    given = [
        Given(each.number, each.id, each.cost)
        for place, each in enumerate(held.messages)
        if place in numbers
    ]
    return Settlement(
        *(kind, held.id, held.token, held.group, given),
        dead={each.number: dead for each in given} if dead else {},
        keep=keep,
    )


def settle(store: Store, *ends: Settlement) -> None:
    with store.transaction() as tx:
        tx.settle("q", ends)


@pytest.mark.parametrize("tenant", [None, "acme"])
@pytest.mark.parametrize("last", [ACCEPTED, REJECTED, RELEASE])
def test_a_group_is_settled_part_by_part_in_one_call(
    store: Store, tenant: str | None, last: str
) -> None:
    for group in ("g", "h"):
        store.send_many("q", [{"body": n, "group": group, "tenant": tenant} for n in range(4)])
    one, other = taken(store), taken(store)
    settle(
        store,
        end(one, last, [3], keep=False),  # in whatever order they are said
        end(other, ACCEPTED, [0, 1, 2, 3], keep=False),
        end(one, ACCEPTED, [0], keep=True),
        end(one, ACCEPTED, [1], keep=True, dead="spoilt"),
        end(one, ACCEPTED, [2], keep=True),
    )
    left = [3] if last == RELEASE else []
    assert [each.body for each in store.dead("q")] == [1, *([3] if last == REJECTED else [])]
    assert store.queues()[0].messages == len(left)
    for body in left:
        again = taken(store)
        assert (again.group, [each.body for each in again]) == ("g", [body])
        again.accept()
    assert store.take("q") is None
    assert store.check() == []


@pytest.mark.parametrize("tenant", [None, "acme"])
def test_what_is_done_is_done_while_the_group_stays(store: Store, tenant: str | None) -> None:
    store.send_many("q", [{"body": n, "group": "g", "tenant": tenant} for n in range(4)])
    work = taken(store)
    settle(store, end(work, ACCEPTED, [0], keep=True))
    settle(store, end(work, ACCEPTED, [1], keep=True, dead="spoilt"))
    assert store.take("q") is None
    assert [each.body for each in store.dead("q")] == [1]
    assert store.queues()[0].messages == 2
    settle(store, end(work, ACCEPTED, [2], keep=True), end(work, RELEASE, [3], keep=False))
    again = taken(store)
    assert (again.attempt, [each.body for each in again]) == (2, [3])
    again.accept()
    assert store.take("q") is None
    kinds = [each.kind for each in store.journal()]
    assert kinds == [*["sent"] * 4, *("taken", "accepted", "rejected", "accepted"), *kinds[-3:]]
    assert kinds[-3:] == ["released", "taken", "accepted"]
    details = [each.detail for each in store.journal() if each.kind == "accepted"]
    assert details == [KEPT, KEPT, None]
    assert store.check() == []


def test_a_raise_meanwhile_is_kept_for_what_is_left(store: Store) -> None:
    store.send_many("q", [{"body": n, "group": "g"} for n in range(2)])
    store.send("q", "first", group="h")
    work = taken(store)
    store.prioritise("q", "g", 200)
    settle(store, end(work, ACCEPTED, [0], keep=True))
    settle(store, end(work, ACCEPTED, [], keep=False))
    assert taken(store).group == "g"


def test_who_does_not_hold_it_settles_no_part(store: Store) -> None:
    store.send_many("q", [{"body": n, "group": "g"} for n in range(2)])
    work = taken(store)
    work.release()

    def settle_late() -> None:
        with store.transaction() as tx:
            tx.send("other", "undone with it")
            tx.settle("q", [end(work, ACCEPTED, [0], keep=True)])

    with pytest.raises(StaleWorkError):
        settle_late()
    assert [each.queue for each in store.queues()] == ["q"]
    assert [each.body for each in taken(store)] == [0, 1]


def test_leases_are_renewed_together(store: Store) -> None:
    store.send_many("q", [{"body": n} for n in range(3)])
    works = store.take_many("q", 3, lease=5)
    works[1].release()
    with store.transaction() as tx:
        lost = tx.renew([work.held for work in works], 60)
    assert lost == [works[1].token]
    assert works[0].deadline > works[0].taken + 50
    works[0].accept()
