"""y: messages over a channel between two stores, beside what sending them there alone takes."""

import itertools
import json
import os
import statistics
import time
from pathlib import Path

from tests.channels.sites import Sites, written
from tests.rabbitmq import Control, address, rabbitmq

from benchmarks.stores import server
from benchmarks.timing import Line
from fairlead import Store

QUEUE = '\n[[queue]]\nname = "ORDERS"\nqueue_manager = "QM2"\nbind = "not-fixed"\n'
BODY = b"x" * 256
MESSAGES = 20_000
STEP = 1000
TO = "TO.QM2"
CHANNELS = 100
"""That are idle."""
IDLE = 10.0
"""Seconds for which their cost is measured."""


def part_y(folder: Path, runs: int) -> list[Line]:
    """On SQLite and on PostgreSQL: a batch of 1,000 is what both ways write at once."""
    lines = []
    sqlite: list[float] = []
    with server(folder / "pg") as url:
        for dialect in ("sqlite", "postgresql"):
            numbers = itertools.count()

            def new(
                name: str, dialect: str = dialect, numbers: "itertools.count[int]" = numbers
            ) -> str:
                number = next(numbers)
                if dialect == "sqlite":
                    return f"sqlite:///{folder}/{name}-{number}.db"
                return url(f"{name.lower()}_{number}")

            took: dict[str, list[float]] = {"channel": [], "send": []}
            for run in range(runs + 1):
                place = folder / f"sites-{dialect}-{run}"
                place.mkdir()
                seconds = over_a_channel(place, new), sent_there(new("alone"))
                for name, value in zip(took, seconds, strict=True):
                    print(f"    {dialect} {name}: {value:.2f} s", flush=True)
                    if run:
                        took[name].append(value)
            if dialect == "sqlite":
                sqlite = took["channel"]
            middle = {name: statistics.median(values) for name, values in took.items()}
            what = f"messages a second over a channel, {dialect}, {MESSAGES:,}"
            ratio = middle["send"] / middle["channel"]
            lines.append(Line("y", what, "send_many of 1,000 into that store", ratio, ">= 0.7"))
    shovel = over_a_shovel(folder / "rabbitmq")
    if shovel is not None:
        channel = statistics.median(sqlite)
        what = f"messages a second over a channel, sqlite, {MESSAGES:,}"
        lines.append(Line("y", what, "RabbitMQ's shovel", shovel / channel, ">= 1"))
    place = folder / "idle"
    place.mkdir()
    lines.append(
        Line("y", f"{CHANNELS} idle channels", "a core", idle(place), "< 0.01", "CPU time by time")
    )
    return lines


def over_a_channel(folder: Path, new: object) -> float:
    """Seconds for what waits at one site to be at the other."""
    file = written(folder, QUEUE, managers=("QM1", "QM2"))
    with Sites(file, new) as sites:  # type: ignore[arg-type]
        sites.declare()
        sender, receiver = sites.stores["QM1"], sites.stores["QM2"]
        sender.want_channel(TO, "stopped")
        for _ in range(MESSAGES // STEP):
            with sender.transaction() as tx:
                for _ in range(STEP):
                    tx.put("ORDERS", BODY)
        for store in (sender, receiver):
            store.close()
        sites.start()
        sites.stores = {name: Store.open(url) for name, url in sites.urls.items()}
        sites.until_state("QM1", TO, "stopped")
        began = time.perf_counter()
        sites.stores["QM1"].want_channel(TO, "")
        sites.until_state("QM1", TO, "running")
        began = time.perf_counter()
        sites.until(lambda: sites.count("QM2", "ORDERS") == MESSAGES, 300)
        took = time.perf_counter() - began
        for store in sites.stores.values():
            store.close()
    return took


def over_a_shovel(folder: Path) -> float | None:
    """Seconds for as many durable messages to go from one queue of RabbitMQ to another by a shovel.

    None: RabbitMQ is not installed.
    """
    from proton import Message
    from proton.utils import BlockingConnection

    control: list[Control] = []
    with rabbitmq(folder, ("from", "to"), "rabbitmq_shovel", control=control) as port:
        if port is None:
            return None
        connection = BlockingConnection(f"amqp://guest:guest@127.0.0.1:{port}", timeout=60)
        sender = connection.create_sender(address("from"))
        for _ in range(MESSAGES):
            sender.send(Message(body=BODY, durable=True))
        while _messages(control[0], "from") < MESSAGES:
            time.sleep(0.5)
        connection.close()
        uri = f"amqp://guest:guest@127.0.0.1:{port}"
        ways = {"src-uri": uri, "src-queue": "from", "dest-uri": uri, "dest-queue": "to"}
        shovel = {**ways, "ack-mode": "on-confirm", "src-prefetch-count": STEP}
        began = time.perf_counter()
        control[0]("set_parameter", "shovel", "bench", json.dumps(shovel))
        while _messages(control[0], "to") < MESSAGES:
            pass
        return time.perf_counter() - began


def _messages(control: Control, queue: str) -> int:
    rows = (line.split("\t") for line in control("list_queues", "name", "messages").splitlines())
    return next((int(count) for name, count in rows if name == queue), 0)


def sent_there(url: str) -> float:
    """Seconds for the same messages, sent to that store by a program beside it."""
    with Store.open(url, create=True) as store:
        began = time.perf_counter()
        for _ in range(MESSAGES // STEP):
            store.send_many("ORDERS", [{"body": BODY} for _ in range(STEP)])
        return time.perf_counter() - began


def idle(folder: Path) -> float:
    """What part of a core a queue manager takes whose channels have nothing to do."""
    names = tuple(f"QM{number}" for number in range(CHANNELS + 1))
    file = written(folder, QUEUE.replace("QM2", "QM1"), managers=names)
    with Sites(file, lambda name: f"sqlite:///{folder}/{name}.db") as sites:
        for name in names[1:]:
            sites.stores[name].close()
        sites.start("QM0")
        sites.until_state("QM0", f"TO.QM{CHANNELS}", "inactive")
        time.sleep(2)
        process = sites.servers["QM0"].process.pid
        before, began = _cpu(process), time.perf_counter()
        time.sleep(IDLE)
        return (_cpu(process) - before) / (time.perf_counter() - began)


def _cpu(process: int) -> float:
    """Seconds that a process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
