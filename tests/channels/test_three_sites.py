"""Three queue managers, each a server with a database of its own: the choice knows real states.

The sequences are those of the document's golden examples: equal weights go in turn, and the ladder
of channel states decides before weights do.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead import Store
from fairlead.errors import QueueFullError
from tests.channels.sites import Sites, sites_of, written

BOTH = """
[[queue]]
name = "ORDERS"
queue_manager = "QM2"
bind = "not-fixed"

[[queue]]
name = "ORDERS"
queue_manager = "QM3"
"""
TO_2, TO_3 = "TO.QM2", "TO.QM3"


@pytest.fixture(params=["sqlite", "postgresql"])
def sites(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sites]:
    with sites_of(tmp_path, request.param, written(tmp_path, BOTH)) as found:
        yield found.start()


def put(sites: Sites, count: int, queue: str = "ORDERS") -> str:
    """To which queue managers so many messages go, from QM1: the last digit of each."""
    ways = [sites.stores["QM1"].put(queue, f"m{number}").destination for number in range(count)]
    return "".join("L" if way == "local" else str(way)[-1] for way in ways)


def warm(sites: Sites) -> None:
    """Let both channels run: while one connects, it is of a lower class than one that does not."""
    put(sites, 1, "ORDERS@QM2")
    put(sites, 1, "ORDERS@QM3")
    arrived(sites, 1, 1)
    for channel in (TO_2, TO_3):
        sites.until_state("QM1", channel, "running")


def arrived(sites: Sites, *counts: int) -> None:
    """Wait until so many messages are at QM2, and QM3."""
    for name, count in zip(("QM2", "QM3"), counts, strict=True):
        sites.until(lambda name=name, count=count: sites.count(name, "ORDERS") == count)  # type: ignore[misc]


@pytest.mark.costly
def test_states_are_real(sites: Sites) -> None:
    warm(sites)
    assert put(sites, 4) == "2323"
    arrived(sites, 3, 3)

    sites.kill("QM3")  # A running, B retrying: AAAA
    put(sites, 1, "ORDERS@QM3")  # as long as that waits, it is tried: else it would be inactive
    sites.until_state("QM1", TO_3, "retrying")
    assert put(sites, 4) == "2222"
    sites.until(lambda: sites.count("QM2", "ORDERS") == 7)

    sites.start("QM3")
    sites.stores["QM1"].want_channel(TO_2, "stopped")
    sites.until_state("QM1", TO_2, "stopped")  # A stopped, B retrying: BBBB, and it is tried
    assert put(sites, 3) == "333"
    sites.until(lambda: sites.count("QM3", "ORDERS") == 7)
    sites.until_state("QM1", TO_3, "running")

    sites.stores["QM1"].want_channel(TO_3, "paused")
    sites.until_state("QM1", TO_3, "paused")  # both in the last class: in turn, and they wait
    assert sorted(put(sites, 2)) == ["2", "3"]
    assert sites.count("QM1", f"channel:{TO_2}") == 1
    for channel in (TO_2, TO_3):
        sites.stores["QM1"].want_channel(channel, "")
    arrived(sites, 8, 8)


@pytest.mark.costly
def test_a_silent_server_is_left_alone_and_its_messages_arrive_once(sites: Sites) -> None:
    warm(sites)
    sites.kill("QM2")
    waits = sites.stores["QM1"]
    put(sites, 1, "ORDERS@QM2")
    sites.until_state("QM1", TO_2, "retrying")
    assert next(row.error for row in waits.channels() if row.name == TO_2)
    sites.start("QM2")
    arrived(sites, 2, 1)
    assert next(row.error for row in waits.channels() if row.name == TO_2) == ""


@pytest.mark.costly
def test_suspended_queue_managers_get_nothing_while_others_are_there(sites: Sites) -> None:
    assert sites.stores["QM2"].change_own("suspended", True) == 2
    warm(sites)
    sites.until(lambda: put(sites, 2) == "33")
    assert sites.stores["QM2"].change_own("suspended", False) == 2
    sites.until(lambda: "2" in put(sites, 2))


@pytest.mark.slow
def test_decisions_are_those_of_the_journal_dispatched(sites: Sites, tmp_path: Path) -> None:
    """Each site's own decisions, again from its journal, with the states that there were."""
    from tests.channels.journals import decided_again

    put(sites, 5)
    sites.kill("QM2")
    put(sites, 1, "ORDERS@QM2")
    sites.until_state("QM1", TO_2, "retrying")
    put(sites, 4)
    sites.start("QM2")
    sites.until(lambda: sites.count("QM1", f"channel:{TO_2}") == 0)
    put(sites, 4)
    sites.until(lambda: sum(sites.count(name, "ORDERS") for name in ("QM2", "QM3")) == 14)
    live, again = decided_again([*sites.stores.values()], sites.file, tmp_path)
    assert len(live) == 28  # each is put, and taken in
    assert live == again


def test_a_local_instance_gets_what_is_put_here(tmp_path: Path) -> None:
    queues = BOTH + '\n[[queue]]\nname = "ORDERS"\nqueue_manager = "QM1"\n'
    with sites_of(tmp_path, "sqlite", written(tmp_path, queues)) as sites:
        sites.start()
        assert put(sites, 3) == "LLL"
        assert sites.count("QM1", "ORDERS") == 3
        put(sites, 1, "ORDERS@QM3")
        sites.until(lambda: sites.count("QM3", "ORDERS") == 1)


@pytest.mark.costly
def test_stopped_servers_say_goodbye(sites: Sites) -> None:
    warm(sites)
    sites.kill("QM1", signal.SIGTERM)
    assert {sites.state("QM1", channel) for channel in (TO_2, TO_3)} == {"inactive"}


def test_files_that_differ_are_named_by_their_first_difference(tmp_path: Path) -> None:
    file = written(tmp_path, BOTH)
    other = tmp_path / "other"
    other.mkdir()
    changed = other / "sites.toml"
    changed.write_text(file.read_text().replace('name = "TO.QM3"', 'name = "TO.QM3"\nweight = 7'))
    with sites_of(tmp_path, "sqlite", file) as sites:
        sites.start("QM1")
        sites.file = changed
        sites.start("QM2")
        put(sites, 1, "ORDERS@QM2")
        sites.until_state("QM1", TO_2, "retrying")
        (row,) = [row for row in sites.stores["QM1"].channels() if row.name == TO_2]
        assert "channel 'TO.QM3': weight: found '50' there, '7' here" in row.error


def test_the_other_side_is_no_fairlead(tmp_path: Path) -> None:
    with sites_of(tmp_path, "sqlite", written(tmp_path, BOTH)) as sites:
        sites.start("QM1")
        place = sites.sites.channel(TO_2).place  # type: ignore[union-attr]
        with socket.create_server((place.host, place.port)) as listening:
            put(sites, 1, "ORDERS@QM2")
            met, _ = listening.accept()
            met.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            sites.until_state("QM1", TO_2, "retrying")
            met.close()
        (row,) = [row for row in sites.stores["QM1"].channels() if row.name == TO_2]
        assert "allowed: a server that speaks AMQP 1.0" in row.error


def test_a_server_that_is_no_queue_manager(tmp_path: Path) -> None:
    from tests.serve.running import Running

    with sites_of(tmp_path, "sqlite", written(tmp_path, BOTH)) as sites:
        place = sites.sites.channel(TO_2).place  # type: ignore[union-attr]
        plain = Running(f"sqlite:///{tmp_path}/plain.db", port=place.port, log=tmp_path / "p.log")
        sites.start("QM1")
        put(sites, 1, "ORDERS@QM2")
        sites.until_state("QM1", TO_2, "retrying")
        (row,) = [row for row in sites.stores["QM1"].channels() if row.name == TO_2]
        assert "this server is no queue manager" in row.error
        plain.end()


def test_two_servers_of_one_queue_manager(tmp_path: Path) -> None:
    from tests.serve.running import Running

    with sites_of(tmp_path, "sqlite", written(tmp_path, BOTH)) as sites:
        sites.start("QM1")
        for name, why in (
            ("QM1", "found another server of this store that has it"),
            ("QM2", "allowed: 'QM1', whose store"),
            ("QM9", "--queue-manager: found 'QM9', allowed: QM1, QM2, QM3"),
        ):
            log = tmp_path / f"second-{name}.log"
            options = ("-c", str(sites.file), "--queue-manager", name)
            second = Running(sites.urls["QM1"], *options, log=log)
            assert second.wait() == 2
            assert why in log.read_text()


def test_amqp_links_bind_as_long_as_they_live(tmp_path: Path) -> None:
    from proton import Message

    queues = BOTH.replace('bind = "not-fixed"', 'bind = "on-open"')
    with sites_of(tmp_path, "sqlite", written(tmp_path, queues)) as sites:
        sites.start()
        connection = sites.servers["QM1"].connect()
        ways = []
        for _ in range(2):
            sender = connection.create_sender("ORDERS")
            for number in range(3):
                sender.send(Message(body=f"m{number}"))
            ways.append(last_way(sites.stores["QM1"]))
            sender.close()
        assert sorted(ways) == [TO_2, TO_3]
        connection.close()
        arrived(sites, 3, 3)


def test_an_answer_finds_its_way_back(tmp_path: Path) -> None:
    from proton import Message

    with sites_of(tmp_path, "sqlite", written(tmp_path, BOTH)) as sites:
        sites.start()
        sites.stores["QM1"].send("ANSWERS", "there is such a queue")
        asking = sites.servers["QM1"].connect()
        message = Message(body="how many?", reply_to="ANSWERS", correlation_id="c-1", subject="Q")
        asking.create_sender("ORDERS@QM2").send(message)
        answering = sites.servers["QM2"].connect()
        receiver = answering.create_receiver("ORDERS")
        asked = receiver.receive(timeout=20)
        receiver.accept()
        assert (asked.body, asked.reply_to) == ("how many?", "ANSWERS@QM1")
        assert (asked.correlation_id, asked.subject) == ("c-1", "Q")
        answering.create_sender(asked.reply_to).send(Message(body="three"))
        sites.until(lambda: sites.count("QM1", "ANSWERS") == 2)
        assert sites.bodies("QM1", "ANSWERS") == ["there is such a queue", "three"]
        for connection in (asking, answering):
            connection.close()


def test_an_answer_here_goes_to_the_queue_here(tmp_path: Path) -> None:
    from proton import Message

    queues = BOTH + '\n[[queue]]\nname = "ORDERS"\nqueue_manager = "QM1"\n'
    with sites_of(tmp_path, "sqlite", written(tmp_path, queues)) as sites:
        sites.start("QM1")
        connection = sites.servers["QM1"].connect()
        message = Message(body="how many?", reply_to="ANSWERS")
        connection.create_sender("ORDERS").send(message)
        receiver = connection.create_receiver("ORDERS")
        asked = receiver.receive(timeout=20)
        receiver.accept()
        connection.create_sender(asked.reply_to).send(Message(body="three"))
        assert sites.bodies("QM1", "ANSWERS") == ["three"]
        connection.close()


@pytest.mark.costly
def test_a_full_transmission_queue_refuses_puts(sites: Sites) -> None:
    store = sites.stores["QM1"]
    store.want_channel(TO_2, "stopped")
    sites.until_state("QM1", TO_2, "stopped")
    store.set_limits(f"channel:{TO_2}", max_waiting=1)
    put(sites, 1, "ORDERS@QM2")
    with pytest.raises(QueueFullError, match="found more than 1 messages"):
        put(sites, 1, "ORDERS@QM2")


def last_way(store: Store) -> str:
    """The destination of the latest decision."""
    *_, last = store.journal(kind="decided")
    return str(last.destination)


def test_what_is_not_bound_goes_another_way_after_a_time(tmp_path: Path) -> None:
    file = written(tmp_path, BOTH, of={"QM2": {"rechoose_after": 0.3}})
    with sites_of(tmp_path, "sqlite", file) as sites:
        sites.start("QM1", "QM3")
        store = sites.stores["QM1"]
        for number in range(4):
            store.put("ORDERS", number, id=f"id-{number}", group="kim")
        with store.transaction() as tx:  # who has opened the queue keeps his way
            for number in range(2):
                tx.put("ORDERS@QM2", f"bound {number}", {"bind": "on-open", "producer": "p"})
        sites.until(lambda: sites.count("QM3", "ORDERS") == 4)
        assert sites.count("QM1", f"channel:{TO_2}") == 2
        assert sorted(sites.bodies("QM3", "ORDERS")) == [0, 1, 2, 3]
        sites.start("QM2")
        sites.until(lambda: sites.count("QM2", "ORDERS") == 2)


@pytest.mark.slow
def test_a_server_that_hangs_is_found_out(sites: Sites) -> None:
    warm(sites)
    sites.servers["QM2"].process.send_signal(signal.SIGSTOP)
    put(sites, 1, "ORDERS@QM2")
    sites.until(lambda: sites.state("QM1", TO_2) == "retrying", 120)
    assert put(sites, 3) == "333"
    sites.servers["QM2"].process.send_signal(signal.SIGCONT)
    sites.until(lambda: sites.count("QM2", "ORDERS") == 2, 120)
    sites.until(lambda: sites.count("QM3", "ORDERS") == 4)


def test_a_changed_file_takes_effect_with_the_next_start(tmp_path: Path) -> None:
    file = written(tmp_path, BOTH)
    with sites_of(tmp_path, "sqlite", file) as sites:
        sites.start()
        put(sites, 2)
        arrived(sites, 1, 1)
        for name in ("QM1", "QM2", "QM3"):
            sites.kill(name)
        file.write_text(file.read_text() + '\n[[queue]]\nname = "PARCELS"\nqueue_manager = "QM3"\n')
        sites.start()
        assert put(sites, 2, "PARCELS") == "33"
        sites.until(lambda: sites.count("QM3", "PARCELS") == 2)
