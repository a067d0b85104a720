"""Tenants, where settling has a case of its own."""

from fairlead import Store


def test_a_tenant_whose_work_is_given_back_in_part_has_had_its_turn(store: Store) -> None:
    store.set_order("q", weights={"gold": 1, "tin": 1})
    store.send("q", "g1", group="g", tenant="gold")
    store.send("q", "g2", group="g", tenant="gold")
    store.send("q", "t1", group="t", tenant="tin")
    store.send("q", "t2", group="u", tenant="tin")
    work = store.take("q")
    assert work is not None
    assert (work.tenant, [message.body for message in work]) == ("gold", ["g1", "g2"])
    other = store.take("q")
    assert other is not None
    assert [message.body for message in other] == ["t1"]
    other.accept()
    work.release(done=1)  # the first is done: both were served once, and gold comes after tin now
    order = []
    while again := store.take("q"):
        order += [message.body for message in again]
        again.accept()
    assert order == ["t2", "g2"]


def test_a_tenant_whose_work_is_given_back_whole_keeps_its_turn(store: Store) -> None:
    store.set_order("q", weights={"gold": 1, "tin": 1})
    for body, group, tenant in (("g1", "g", "gold"), ("g2", "g", "gold"), ("t1", "t", "tin")):
        store.send("q", body, group=group, tenant=tenant)
    work = store.take("q")
    assert work is not None
    assert len(list(work)) == 2
    work.release()
    again = store.take("q")
    assert again is not None
    assert again.tenant == "gold"
