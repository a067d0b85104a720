"""What each role may do on PostgreSQL, from Python and in SQL, and what it may not."""

import re
from collections.abc import Callable, Iterator
from inspect import isfunction
from itertools import count
from typing import Any, Final

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from fairlead import Change, Cluster, Store
from fairlead.errors import StoreError
from fairlead.store.database.statements import roles
from tests.store.roles import ROLES, SNIPPETS, UrlOf, store_with_roles

NOBODY: Final = "owner"
_numbers = count(1)


@pytest.fixture(scope="module")
def url_of() -> UrlOf:
    return store_with_roles()


def test_the_roles_of_the_documentation_are_those_that_the_store_makes() -> None:
    assert (SNIPPETS / "roles.sql").read_text(encoding="utf-8") == roles("postgresql")


def some() -> str:
    """A name that nothing else has."""
    return f"n-{next(_numbers)}"


def held(store: Store) -> Any:
    """Work in the hands of a store."""
    queue = some()
    store.send(queue, "o", group="kim")
    work = store.take(queue)
    assert work is not None
    return work


def spoken(store: Store) -> Any:
    """A conversation in which something was said."""
    found = store.begin_dialog("Client", "Shop")
    found.send("Order", {"item": "lamp"})
    return found


def dead_letter(owner: Store) -> str:
    work = held(owner)
    next(work)
    work.reject("why")
    return str(work.queue)


def switched(store: Store, queue: str) -> None:
    for on in (False, True):
        assert store.switch(queue, on=on)


def scheduled(owner: Store) -> str:
    """A schedule of which a tick is due."""
    owner.declare(SNIPPETS / "schedules.toml")
    with owner.transaction() as tx:
        tx.execute("UPDATE fairlead.schedules SET next = 0")
    return "nightly"


def decided(owner: Store) -> int:
    return owner.next_destination("Bangkok").number


def subscribed(owner: Store) -> str:
    return owner.subscribe("news", "/a", some()).name


def departed(owner: Store) -> str:
    """A subject of which one subscriber has left, for whom something waits, and one has not."""
    subject = some()
    for name in "AB":
        owner.subscribe("news", subject, name)
    owner.publish("news", "o", {"subject": subject, "mode": "sorted", "delivery": "all"})
    owner.unsubscribe("news", subject, "A")
    return subject


def transacted(store: Store) -> None:
    with store.transaction() as tx:
        tx.send("orders", "o")


def joined(store: Store, url: str) -> None:
    with psycopg.connect(url) as connection, store.join(connection) as tx:
        tx.send("orders", "o", group="kim")


Verb = Callable[[Store, Store, str], object]


def staged(store: Store) -> None:
    with store.staged_run(some()):
        pass


VERBS: Final[dict[str, tuple[str, Verb]]] = {
    # verb: from which role on; a call with the role's store, the owner's, and the role's URL
    "send": ("sender", lambda s, o, u: s.send("orders", "o", id=some(), group=some())),
    "send_many": ("sender", lambda s, o, u: s.send_many("orders", [{"body": 1}, {"body": 2}])),
    "prioritise": ("sender", lambda s, o, u: s.prioritise("orders", "kim", 7)),
    "begin_dialog": ("sender", lambda s, o, u: s.begin_dialog("Client", "Shop", lifetime=60)),
    "conversation": ("sender", lambda s, o, u: s.conversation(spoken(o).id).state),
    "dialog_transaction": ("sender", lambda s, o, u: spoken(s)),
    "next_destination": ("chooser", lambda s, o, u: [s.next_destination(c) for c in CLUSTERS]),
    "publish": ("chooser", lambda s, o, u: [s.publish(c, "o", id=some()) for c in CLUSTERS]),
    "publish_many": (
        "chooser",
        lambda s, o, u: [s.publish_many(c, [{"body": 1, "id": some()}]) for c in CLUSTERS],
    ),
    "loaded_cluster": ("sender", lambda s, o, u: [s.loaded_cluster(c) for c in CLUSTERS]),
    "can_reserve": ("sender", lambda s, o, u: s.can_reserve("Bangkok")),
    "prepare_turns": ("sender", lambda s, o, u: s.prepare_turns("Bangkok", 1)),
    "staged_run": ("chooser", lambda s, o, u: staged(s)),
    "bulk_run": ("sender", lambda s, o, u: s.bulk_run("night")),
    "completed": ("chooser", lambda s, o, u: s.completed(s.next_destination("pending"))),
    "transaction": ("sender", lambda s, o, u: transacted(s)),
    "join": ("sender", lambda s, o, u: joined(s, u)),
    "clusters": ("sender", lambda s, o, u: s.clusters()),
    "pool": ("sender", lambda s, o, u: [s.pool(each) for each in CLUSTERS]),
    "check_queue": ("sender", lambda s, o, u: s.check_queue("orders")),
    "retry": ("sender", lambda s, o, u: s.retry("orders")),
    "max_seconds": ("sender", lambda s, o, u: s.max_seconds("orders")),
    "decision": ("sender", lambda s, o, u: s.decision(decided(o))),
    "decision_about": (
        "sender",
        lambda s, o, u: s.decision_about("Bangkok", str(o.publish("Bangkok", 1, id="a") and "a")),
    ),
    "service": ("sender", lambda s, o, u: s.service("Shop")),
    "ends": ("worker", lambda s, o, u: s.ends(spoken(o).dialog)),
    "bound_to": ("sender", lambda s, o, u: s.bound_to(spoken(s))),
    "retention": ("sender", lambda s, o, u: s.retention()),
    "take": ("worker", lambda s, o, u: held(s).accept()),
    "claim": ("worker", lambda s, o, u: s.claim(60)),
    "take_now": ("worker", lambda s, o, u: s.take_now(held(o).queue, s.claim(60))),
    "tend": ("worker", lambda s, o, u: s.tend(held(o).queue)),
    "take_many": ("worker", lambda s, o, u: s.accept(s.take_many(held(s).queue, 2))),
    "accept": ("worker", lambda s, o, u: s.accept([held(s)])),
    "settle": ("worker", lambda s, o, u: held(s).release()),
    "extend": ("worker", lambda s, o, u: held(s).extend(60)),
    "more": ("worker", lambda s, o, u: s.more(held(s).held, [])),
    "holds": ("chooser", lambda s, o, u: s.holds(held(o).held)),
    "has_ended": ("sender", lambda s, o, u: s.has_ended(spoken(s))),
    "receive": ("worker", lambda s, o, u: s.receive(o.ends(spoken(o).dialog)[1], 0, 60)),
    "trace_of": ("worker", lambda s, o, u: s.trace_of(1)),
    "outcome": ("worker", lambda s, o, u: s.outcome(settled(o))),
    "waiting": ("worker", lambda s, o, u: s.waiting(held(o).queue)),
    "peek": ("worker", lambda s, o, u: s.peek(held(o).queue)),
    "promotion": ("worker", lambda s, o, u: s.promotion(held(o).queue, "kim")),
    "groups": ("worker", lambda s, o, u: s.groups(held(o).queue)),
    "prioritise_seen": ("worker", lambda s, o, u: raised_as_seen(s, o)),
    "ready": ("worker", lambda s, o, u: s.ready("orders")),
    "stopping": ("worker", lambda s, o, u: (held(s), s.stopping())),
    "take_back": ("worker", lambda s, o, u: s.take_back(held(o).held.token)),
    "switch": ("worker", lambda s, o, u: switched(s, held(o).queue)),
    "tick": ("worker", lambda s, o, u: (scheduled(o), s.tick())),
    "schedules": ("worker", lambda s, o, u: s.schedules()),
    "overdue_schedules": ("worker", lambda s, o, u: s.overdue_schedules()),
    "ticks": ("worker", lambda s, o, u: s.ticks(scheduled(o))),
    "pause_schedule": ("operator", lambda s, o, u: s.pause_schedule(scheduled(o))),
    "drop_schedule": ("operator", lambda s, o, u: s.drop_schedule(scheduled(o))),
    "set_order": ("operator", lambda s, o, u: s.set_order(held(o).queue, "fifo")),
    "set_limits": ("operator", lambda s, o, u: s.set_limits(held(o).queue, max_waiting=5)),
    "set_retention": ("operator", lambda s, o, u: s.set_retention(90)),
    "declare": ("operator", lambda s, o, u: s.declare(SNIPPETS / "dialogs.toml")),
    "requeue": ("operator", lambda s, o, u: s.requeue(dead_letter(o))),
    "purge": ("operator", lambda s, o, u: s.purge(held(o).queue)),
    "delete_queue": ("operator", lambda s, o, u: s.delete_queue(emptied(o))),
    "discard": ("operator", lambda s, o, u: s.discard(dead_letter(o))),
    "change": ("operator", lambda s, o, u: s.change("Bangkok", "DEV1", "weight", 5)),
    "apply": ("operator", lambda s, o, u: s.apply("pending", Change("DEV1", "readers", 2))),
    "reset": ("operator", lambda s, o, u: s.reset("Bangkok")),
    "add_destination": (
        "operator",
        lambda s, o, u: s.add_destination("Bangkok", {"name": some(), "weight": 1}),
    ),
    "remove_destination": (
        "operator",
        lambda s, o, u: s.remove_destination("Bangkok", added(o)),
    ),
    "subscribe": ("operator", lambda s, o, u: s.subscribe("news", "/a", some())),
    "unsubscribe": ("operator", lambda s, o, u: s.unsubscribe("news", "/a", subscribed(o))),
    "deliveries": ("chooser", lambda s, o, u: s.deliveries([decided(o)])),
    "reroute": ("worker", lambda s, o, u: s.reroute("news", departed(o), "A")),
    "load_clusters": ("operator", lambda s, o, u: s.load_clusters(SNIPPETS / "hangars.toml")),
    "keep_clusters": (
        "operator",
        lambda s, o, u: s.keep_clusters([Cluster.of("msmq", name=some(), destination=ONE)]),
    ),
    "prune": ("operator", lambda s, o, u: s.prune(3600)),
    "check": ("worker", lambda s, o, u: s.check()),
    "recover": ("operator", lambda s, o, u: s.recover()),
    "make_roles": ("owner", lambda s, o, u: s.make_roles()),
}
LOOKS: Final[dict[str, Verb]] = {
    # what workers and viewers look at
    "queues": lambda s, o, u: s.queues(),
    "later": lambda s, o, u: s.later("orders"),
    "queues_by_tenant": lambda s, o, u: s.queues_by_tenant(),
    "held": lambda s, o, u: s.held(held(o).queue)[0],
    "group": lambda s, o, u: s.group(held(o).queue, "kim"),
    "groups_named": lambda s, o, u: s.groups_named(held(o).queue, "k")[0],
    "dead_heads": lambda s, o, u: s.dead_heads(dead_letter(o))[0],
    "dead_body": lambda s, o, u: dead_body(s, o),
    "processes": lambda s, o, u: s.processes(),
    "count_events": lambda s, o, u: s.count_events().cursor,
    "cursor_at": lambda s, o, u: s.cursor_at(0) or "all",
    "dead": lambda s, o, u: s.dead(dead_letter(o)),
    "dead_counts": lambda s, o, u: s.dead_counts(dead_letter(o)),
    "purgeable": lambda s, o, u: s.purgeable(held(o).queue),
    "working": lambda s, o, u: s.working(held(o).queue),
    "off": lambda s, o, u: s.off(switched_off(o)),
    "limits": lambda s, o, u: s.limits("orders"),
    "off_tenants": lambda s, o, u: s.off_tenants("orders"),
    "journal": lambda s, o, u: list(s.journal()),
    "latest": lambda s, o, u: s.latest(),
    "journal_back": lambda s, o, u: s.journal_back(),
    "journal_ahead": lambda s, o, u: s.journal_ahead(),
    "sent_at": lambda s, o, u: s.sent_at(held(o).queue, "no such"),
    "view_rows": lambda s, o, u: s.view_rows("waiting"),
    "journal_parts": lambda s, o, u: s.journal_parts(4),
    "explain_order": lambda s, o, u: s.explain_order(*in_order(o)),
    "conversations": lambda s, o, u: s.conversations(),
    "dialog": lambda s, o, u: s.dialog(spoken(o).dialog),
    "dialog_waits": lambda s, o, u: s.dialog_waits(spoken(o).dialog),
    "services": lambda s, o, u: s.services(),
    "state_of": lambda s, o, u: s.state_of(spoken(o).endpoint),
}
SAYS_LESS: Final = {"holds", "reroute", "make_roles", "join"}
"""What is refused first takes a role that is not enough, or not needed, for all of it."""
ROLE: Final = re.compile(r"fairlead_(\w+)")
OF_NO_ROLE: Final = {"hold_for_others", "taking", "open", "begin", "close", "is_of", "even_if_full"}
IF_NOTHING_IS_DUE: Final = ("ready",)
"""What is due is done first, and for that a viewer has no right."""
SEEN: Final = {
    # verbs that a viewer has, too
    "can_reserve",
    "prepare_turns",
    "bulk_run",
    *(
        "check_queue",
        "retry",
        "max_seconds",
        "retention",
        "conversation",
        "bound_to",
        "holds",
        "has_ended",
        "trace_of",
        *("waiting", "peek", "promotion", "groups", "check"),
        *("clusters", "pool", "decision", "decision_about", "deliveries"),
    ),
    *("service", "schedules", "overdue_schedules", "ticks", *IF_NOTHING_IS_DUE),
}
CLUSTERS: Final = ("Bangkok", "pending", "tickets")
ONE: Final = [{"name": "only", "weight": 1}]


def dead_body(store: Store, owner: Store) -> bytes:
    queue = dead_letter(owner)
    return store.dead_body(queue, owner.dead_heads(queue)[0].number).beginning


def raised_as_seen(store: Store, owner: Store) -> None:
    queue = held(owner).queue
    now = owner.group(queue, "kim")
    assert now is not None
    assert store.prioritise_seen(queue, "kim", 5, now.seen)


def settled(owner: Store) -> int:
    work = held(owner)
    work.accept()
    return int(work.token)


def emptied(owner: Store) -> str:
    work = held(owner)
    list(work)
    work.accept()
    return str(work.queue)


def added(owner: Store) -> str:
    name = some()
    owner.add_destination("Bangkok", {"name": name, "weight": 1})
    return name


def switched_off(owner: Store) -> str:
    queue = str(held(owner).queue)
    owner.switch(queue, on=False)
    return queue


def in_order(owner: Store) -> tuple[str, str, str]:
    queue = some()
    for group in "ab":
        owner.send(queue, group, group=group)
    while work := owner.take(queue):
        work.accept() if list(work) else None
    return queue, "a", "b"


@pytest.fixture(scope="module")
def stores(url_of: UrlOf) -> Iterator[dict[str, Store]]:
    found = {role: Store.open(url_of(role)) for role in (*ROLES, "viewer", "owner")}
    yield found
    for store in found.values():
        store.close()


def test_deleting_a_queue_with_all_in_it_is_refused_before_anything_is_done(
    stores: dict[str, Store],
) -> None:
    queue = held(stores["owner"]).queue
    for role in ("sender", "worker", "viewer"):
        with pytest.raises(StoreError, match="it takes the role fairlead_operator, which"):
            stores[role].delete_queue(queue, purge=True)
    assert [each.messages for each in stores["owner"].queues() if each.queue == queue] == [1]


def events(store: Store) -> int:
    return sum(1 for _ in store.journal())


def test_each_verb_of_a_store_is_some_roles() -> None:
    verbs = {name for name, each in vars_of(Store) if isfunction(each) or name == "open"}
    assert verbs == {*VERBS, *LOOKS, *OF_NO_ROLE}


def vars_of(cls: type) -> Iterator[tuple[str, Any]]:
    for name in dir(cls):
        if not name.startswith("_"):
            yield name, getattr(cls, name)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_for_a_role_and_those_above_it(
    verb: str, stores: dict[str, Store], url_of: UrlOf
) -> None:
    least, call = VERBS[verb]
    order = [*ROLES, NOBODY]
    for role in (*ROLES, "viewer"):
        store, owner = stores[role], stores["owner"]
        if role != "viewer" and order.index(role) >= order.index(least):
            call(store, owner, url_of(role))
        elif role != "viewer" or verb not in SEEN:
            with pytest.raises(
                (StoreError, InsufficientPrivilege), match="permission denied"
            ) as told:
                call(store, owner, url_of(role))
            if role != "viewer" and verb not in SAYS_LESS:  # who often may not do what comes before
                assert f"fairlead_{least}" in str(told.value)
            if least == "operator":
                assert ROLE.findall(str(told.value)) == ["operator"]
            assert "function" not in str(told.value) or verb == "join"  # as the driver says it


@pytest.mark.parametrize(
    "verb", sorted(SEEN & VERBS.keys() - {"bound_to", "has_ended", *IF_NOTHING_IS_DUE})
)
def test_a_viewer_has_what_changes_nothing(
    verb: str, stores: dict[str, Store], url_of: UrlOf
) -> None:
    VERBS[verb][1](stores["viewer"], stores["owner"], url_of("viewer"))


@pytest.mark.parametrize("verb", LOOKS)
def test_workers_and_viewers_look(verb: str, stores: dict[str, Store], url_of: UrlOf) -> None:
    call = LOOKS[verb]
    for role in ("worker", "operator", "viewer"):
        call(stores[role], stores["owner"], url_of(role))


BEGUN: Final = "fairlead.begin_dialog('Client', 'Shop')"
TAKEN: Final = "SELECT t.token FROM fairlead.take('orders') t LIMIT 1"
SQL: Final[dict[str, tuple[str, str]]] = {
    # function of the schema: from which role on; a call
    "send": ("sender", "SELECT fairlead.send('orders', 'o'::text, 'kim', 7)"),
    "prioritise": ("sender", "SELECT fairlead.prioritise('orders', 'kim', 9)"),
    "next_destination": ("sender", "SELECT fairlead.next_destination('tickets')"),
    "publish": ("sender", "SELECT fairlead.publish('Bangkok', 'o'::text)"),
    "take": ("worker", "SELECT * FROM fairlead.take('orders')"),
    "more": (
        "worker",
        "SELECT * FROM fairlead.take('orders') t, fairlead.more(t.token, '{}')",
    ),
    "settle": (
        "worker",
        f"SELECT fairlead.settle(({TAKEN}), 'released')",
    ),
    "begin_dialog": ("sender", f"SELECT {BEGUN}"),
    "send_on": ("sender", f"SELECT fairlead.send_on({BEGUN}, 'Order', '1'::jsonb)"),
    "prioritise_dialog": ("sender", f"SELECT fairlead.prioritise_dialog({BEGUN})"),
    "bound_dialog": ("sender", f"SELECT fairlead.bound_dialog({BEGUN})"),
    "delayed_by_dialog": ("sender", f"SELECT fairlead.delayed_by_dialog({BEGUN}, 9)"),
    "bind_dialogs": ("worker", f"SELECT fairlead.bind_dialogs({BEGUN}, {BEGUN})"),
    "end_dialog": ("worker", f"SELECT fairlead.end_dialog({BEGUN}, 5, 'why')"),
    "delayed_by": ("worker", "SELECT fairlead.delayed_by('orders', 'kim', 9)"),
    "place_of": ("worker", "SELECT * FROM fairlead.place_of('orders', 'kim')"),
    "receive": ("worker", "SELECT * FROM fairlead.receive('orders')"),
    "change": ("operator", "SELECT fairlead.change('Bangkok', 'DEV2', 'weight', '7')"),
    "reset": ("operator", "SELECT fairlead.reset('Bangkok')"),
    "machines": (
        "operator",
        "UPDATE fairlead.machines SET weight = weight + 1 WHERE cluster = 'Bangkok'",
    ),
}
VIEWS: Final = (
    *("queue_status", "waiting", "held", "dead_letters", "delayed_messages"),
    *("services", "conversations", "events", "machines"),
)
"""Those that show what there is."""


def test_each_function_and_view_for_plain_sql_is_some_roles(url_of: UrlOf) -> None:
    asked = (
        "SELECT proname FROM pg_proc WHERE pronamespace = 'fairlead'::regnamespace "
        "UNION SELECT relname FROM pg_class WHERE relnamespace = 'fairlead'::regnamespace "
        "AND relkind = 'v'"
    )
    with psycopg.connect(url_of("owner")) as connection:
        found = {name for (name,) in connection.execute(asked).fetchall()}
    assert {name for name in found if not name.startswith("_")} == {*SQL, *VIEWS}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_read_by_all_but_senders_and_written_by_no_viewer(
    view: str, url_of: UrlOf
) -> None:
    query = f"SELECT * FROM fairlead.{view}"  # noqa: S608 - of this list
    for role in ("worker", "operator", "viewer"):
        with psycopg.connect(url_of(role)) as connection:
            connection.execute(query.encode()).fetchall()
    for role, refused in (
        ("sender", query),
        ("nobody", query),
        ("viewer", f"DELETE FROM fairlead.{view}"),  # noqa: S608 - of this list
    ):
        with psycopg.connect(url_of(role)) as connection, pytest.raises(psycopg.Error):
            connection.execute(refused.encode())


@pytest.mark.parametrize("name", SQL)
def test_a_function_is_for_a_role_and_those_above_it(
    name: str, url_of: UrlOf, stores: dict[str, Store]
) -> None:
    least, call = SQL[name]
    order = [*ROLES, NOBODY]
    for role in (*ROLES, "viewer", "nobody"):
        for number in range(2):  # so that there is something to take
            stores["owner"].send("orders", "o", group=f"{role}-{number}")
        with psycopg.connect(url_of(role)) as connection:
            above = role in ROLES and order.index(role) >= order.index(least)
            if above or (role == "viewer" and name == "place_of"):
                connection.execute(call.encode())
            else:
                with pytest.raises(InsufficientPrivilege):
                    connection.execute(call.encode())


WRITES: Final = (
    # what a sender could do with the rows themselves: to say when an event was written, to speak
    # for an end that has ended, to move a destination
    "INSERT INTO fairlead.journal (id, transaction) VALUES (-5, '1')",
    "UPDATE fairlead.endpoints SET state = 1",
    "UPDATE fairlead.endpoints SET handle = 'mine'",
    "UPDATE fairlead.destinations SET address = 'elsewhere'",
    "UPDATE fairlead.queues SET max_waiting = NULL",
    "UPDATE fairlead.schema SET journal_keep = 0",
    "DELETE FROM fairlead.journal",
    "SELECT body FROM fairlead.messages",
    "SELECT setval('fairlead.numbers', 1)",
    "SELECT fairlead._change('Bangkok', 'DEV1', 'weight', '5')",
    "INSERT INTO fairlead.epochs VALUES (1, 1)",
)


@pytest.mark.parametrize("statement", WRITES)
def test_a_sender_has_no_right_to(statement: str, url_of: UrlOf) -> None:
    with psycopg.connect(url_of("sender")) as connection, pytest.raises(InsufficientPrivilege):
        connection.execute(statement.encode())
