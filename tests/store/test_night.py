"""What an operator needs at night: numbers for Prometheus, lines of the log, a watchdog."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead import Store
from fairlead.errors import ConfigError
from fairlead.prometheus import MetricsServer
from tests.cli.commands import Command
from tests.store.test_worker import both, empty, stop, until, working
from tests.stores import made_url

HANDLERS = """
def work(message):
    if message.body == "bad":
        raise ZeroDivisionError

handlers = {"q": work}
"""
CLUSTER = """
name = "pool"
policy = "msmq"
[[destination]]
name = "A"
weight = 1
[[destination]]
name = 'B "b"'
weight = 1
"""


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as reply:  # noqa: S310
        assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        found: str = reply.read().decode()
        return found


def asked(folder: Path, url: str) -> str:
    """What `fairlead metrics` prints."""
    with Command(folder, "metrics", FAIRLEAD_STORE=url) as command:
        printed, _ = command.process.communicate(timeout=60)
        assert command.process.returncode == 0, command.said()
        return str(printed)


def log(command: Command) -> str:
    return command.log.read_text("utf-8")


def values(text: str) -> dict[str, float]:
    rows = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in rows}


@both
def test_the_numbers_of_a_store_are_printed(dialect: str, tmp_path: Path) -> None:
    url = made_url(dialect)
    (tmp_path / "pool.toml").write_text(CLUSTER)
    with Store.open(url) as store:
        store.load_clusters(tmp_path / "pool.toml")
        for _ in range(4):
            store.next_destination("pool")
        store.send("q", "x", group="g")
        store.send("q", "y", delay=100)
        assert store.take("q") is not None
        done = asked(tmp_path, url)
    found = values(done)
    labels = '{queue="q"}'
    assert found[f"fairlead_queue_messages{labels}"] == 1
    assert found[f"fairlead_queue_working{labels}"] == 1
    assert found[f"fairlead_queue_delayed{labels}"] == 1
    assert found[f"fairlead_queue_enabled{labels}"] == 1
    assert found['fairlead_destination_chosen{cluster="pool",destination="A"}'] == 2
    assert found['fairlead_destination_chosen{cluster="pool",destination="B \\"b\\""}'] == 2
    assert done.count("# TYPE fairlead_queue_messages gauge") == 1


def test_a_parser_of_prometheus_reads_them() -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    from fairlead.store.workers.counting import WorkCounts
    from fairlead.store.workers.metrics import Page

    counts = WorkCounts()
    counts.handled('q"\\', "accepted", messages=2, failed=False, waited=0.3, seconds=9000)
    with Store.open(made_url("sqlite")) as store:
        store.send('q"\\', "x")
        text = Page(store, counts)()
    families = {each.name: each for each in parser.text_string_to_metric_families(text)}
    waits = families["fairlead_work_wait_seconds"]
    assert {each.labels["queue"] for each in waits.samples} == {'q"\\'}
    assert [each.value for each in waits.samples if each.name.endswith("_count")] == [1]
    buckets = [each.value for each in waits.samples if each.name.endswith("_bucket")]
    assert buckets == sorted(buckets)
    assert families["fairlead_work_groups"].type == "counter"


def test_a_worker_answers_prometheus(tmp_path: Path) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        for body in ("good", "good", "bad"):
            store.send("q", body, group=body)
        options = ("--metrics", "0", "--retry-delay", "600")
        with working(tmp_path, url, HANDLERS, *options) as command:
            until(lambda: "metrics=" in log(command))
            page = re.findall(r"metrics=(\S+)", log(command))[0]
            assert page.startswith("http://127.0.0.1:")
            name = 'fairlead_work_groups_total{queue="q",outcome="released"}'
            until(lambda: values(read(page)).get(name) == 1)
            found = values(read(page))
            assert found['fairlead_work_groups_total{queue="q",outcome="accepted"}'] == 1
            assert found['fairlead_work_messages_total{queue="q"}'] == 2
            assert found['fairlead_work_failures_total{queue="q"}'] == 1
            assert found['fairlead_work_wait_seconds_count{queue="q"}'] == 2
            assert found["fairlead_store_up"] == 1
            with pytest.raises(urllib.error.HTTPError):
                read(page.replace("/metrics", "/other"))
            assert stop(command) == 0


@pytest.mark.parametrize("address", ["", "host", ":9", "1.2.3.4:99999", "203.0.113.1:9"])
def test_an_address_that_is_none_is_refused_in_one_line(address: str) -> None:
    with pytest.raises(ConfigError, match="metrics: "):
        MetricsServer(str, address, ConfigError)


def test_a_database_that_is_gone_is_told_and_the_rest_stays() -> None:
    from fairlead.store.workers.counting import WorkCounts
    from fairlead.store.workers.metrics import Page

    store = Store.open(made_url("sqlite"))
    counts = WorkCounts()
    counts.handled("q", "accepted", messages=1, failed=False, waited=None, seconds=1)
    store.close()
    found = values(Page(store, counts)())
    assert found["fairlead_store_up"] == 0
    assert found['fairlead_work_groups_total{queue="q",outcome="accepted"}'] == 1


def test_a_database_that_does_not_answer_is_told_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlead.store.workers import metrics

    monkeypatch.setattr(metrics, "SECONDS", 0.2)
    come = threading.Event()
    with Store.open(made_url("sqlite")) as store:
        queues = store.queues
        monkeypatch.setattr(store, "queues", lambda: come.wait(60) and queues())
        store.send("q", 1)
        asked = metrics.Page(store)
        for _ in range(3):
            found = values(asked())
            assert found == {"fairlead_store_up": 0}
        come.set()
        until(lambda: values(asked())["fairlead_store_up"] == 1)
        assert values(asked())['fairlead_queue_messages{queue="q"}'] == 1


def test_a_schedule_that_nobody_sends_is_told(tmp_path: Path) -> None:
    from fairlead.store.workers.metrics import page

    file = tmp_path / "s.toml"
    file.write_text(
        "".join(
            f'[[schedule]]\nname = "{name}"\nqueue = "q"\nevery = 60\n' for name in ("on", "off")
        )
    )
    now = 1_000_000.0
    with Store.open(made_url("sqlite"), clock=lambda: now) as store:
        store.declare(file)
        store.pause_schedule("off")
        name = "fairlead_schedule_overdue_seconds"
        assert values(page(store))[f'{name}{{schedule="on"}}'] == 0
        due = min(each.next for each in store.schedules())
        now = due + 90
        found = values(page(store))
        assert found[f'{name}{{schedule="on"}}'] == pytest.approx(90)
        assert found[f'{name}{{schedule="off"}}'] == 0
        store.tick()
        assert values(page(store))[f'{name}{{schedule="on"}}'] == 0


# -------- a service manager


@contextmanager
def manager(tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """A socket to which notifications are sent, as systemd has one."""
    place = str(tmp_path / "notify")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as found:
        found.bind(place)
        found.settimeout(60)
        yield found, place


@pytest.mark.parametrize("options", [(), ("--processes", "1")])
def test_a_service_manager_hears_that_it_is_ready_alive_and_stopping(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    url = made_url("sqlite")
    (tmp_path / "shop.py").write_text(HANDLERS)
    with manager(tmp_path) as (heard, place), Store.open(url) as store:
        store.send("q", "good")
        env = {"FAIRLEAD_STORE": url, "NOTIFY_SOCKET": place, "WATCHDOG_USEC": "400000"}
        with Command(tmp_path, "work", "shop:handlers", *options, **env) as command:
            said = [heard.recv(100).decode() for _ in range(4)]
            assert said == ["READY=1", *["WATCHDOG=1"] * 3]
            until(lambda: empty(store))
            command.process.send_signal(signal.SIGTERM)
            while (last := heard.recv(100).decode()) == "WATCHDOG=1":
                pass
            assert last == "STOPPING=1"
            assert command.ended() == 0


def test_the_watchdog_of_another_process_is_not_fed(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlead.store.workers.manager import ServiceManager

    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as heard:
        heard.bind("\0fairlead-test-" + str(os.getpid()))  # an abstract name
        heard.settimeout(0.2)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@fairlead-test-{os.getpid()}")
        monkeypatch.setenv("WATCHDOG_USEC", "1000000")
        monkeypatch.setenv("WATCHDOG_PID", "1")
        found = ServiceManager()
        found.alive()
        found.ready()
        assert heard.recv(100) == b"READY=1"
        with pytest.raises(TimeoutError):
            heard.recv(100)
        assert "NOTIFY_SOCKET" not in os.environ  # what it starts does not speak for it


# -------- the log


def test_start_stop_and_what_is_taken_back_have_a_line_each(tmp_path: Path) -> None:
    url = made_url("sqlite")
    hold = (
        "import sys, time\nfrom fairlead import Store\n"
        "store = Store.open(sys.argv[1]); work = store.take('q')\n"
        "print('held', flush=True); time.sleep(600)"
    )
    with Store.open(url) as store:
        store.send("q", "good", group="g")
        with subprocess.Popen([sys.executable, "-c", hold, url], stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            holder.kill()
        with working(tmp_path, url, HANDLERS) as command:
            until(lambda: empty(store))
            assert stop(command) == 0
            lines = log(command)
    assert re.search(r"event=started version=\S+ store=sqlite:///\S+ handlers=shop:handlers", lines)
    assert re.search(r'event=taken-back queue="q" holder=\d+ groups=1 blameless=0', lines)
    assert re.search(r"event=stopping signal=15", lines)
    assert re.search(r"event=ended seconds=\d", lines)


def test_a_database_that_is_lost_and_regained_has_a_line_for_both(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from fairlead.errors import StoreError
    from fairlead.store.workers.threads import Threads

    answers: list[Any] = [StoreError("gone"), StoreError("gone"), True, True]

    def step() -> bool:
        found = answers.pop(0)
        if isinstance(found, StoreError):
            raise found
        return len(answers) > 0

    with Store.open(made_url("sqlite")) as store, caplog.at_level("INFO"):
        threads = Threads(store)
        threads.begin(step)
        until(lambda: not threads.busy)
    lines = [each.getMessage() for each in caplog.records]
    assert lines[0] == "event=database-lost gone; trying again until it is back"
    assert re.fullmatch(r"event=database-back seconds=0\.\d+", lines[1])
    assert len(lines) == 2


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="not here: systemd-analyze")
def test_systemd_understands_each_line_of_the_unit_in_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "operate.md").read_text("utf-8")
    found = re.search(r'```ini title="(.+?)"\n(.+?)```', page, re.DOTALL)
    assert found is not None
    unit = tmp_path / found[1]
    unit.write_text(found[2].replace("/opt/shop/bin/fairlead", sys.executable))
    asked = ["systemd-analyze", "verify", str(unit)]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
