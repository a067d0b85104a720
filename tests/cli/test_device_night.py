"""A device in the night: its folder is gone, a worker drains, a signal comes, who may connect."""

import json
import shutil
import signal
import ssl
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

import oracle
from disks import disk
from fairlead import Cluster, load_clusters
from fairlead.cli.app import run
from fairlead.cli.explain_interval import clock, moment, story
from fairlead.errors import OutputError, SocketError, SocketTimeoutError, UserError
from fairlead.sockets import Device, Rep, Req, folder
from fairlead.sockets.folder import JournalFolder
from fairlead.sockets.journal import JournalStretch
from fairlead.sockets.metrics import SocketMetrics
from fairlead.sockets.tls import authority, identity
from sockets.identity import new_identity
from sockets.test_req_rep import serving
from sockets.waiting import until, until_up

from .test_device import SECONDS, Running, device, seen, site

__all__ = ["device", "site"]
CLUSTER = Cluster.of("nanomsg", destination=[{"name": "A", "address": "tcp://127.0.0.1:1"}])


def rows(count: int, begin: int = 0) -> JournalStretch:
    return JournalStretch([{"id": str(k)} for k in range(begin, begin + count)], [])


def ids(place: Path) -> list[int]:
    return [
        int(json.loads(line)["id"]) for line in (place / "messages.jsonl").read_text().splitlines()
    ]


# -------- The journal


def test_what_cannot_be_written_is_kept_and_written_later_without_half_a_line(
    tmp_path: Path,
) -> None:
    with disk(tmp_path / "disk", "64k") as small:
        kept = JournalFolder(small / "journal")
        kept.write(CLUSTER, rows(3))
        whole = (kept.place / "messages.jsonl").stat().st_size
        filler = small / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        with pytest.raises(OutputError, match="journal: No space left on device"):
            kept.write(CLUSTER, rows(1000, 3))
        assert (kept.place / "messages.jsonl").stat().st_size == whole
        assert kept.waiting == 1000
        filler.unlink()
        kept.write(CLUSTER, rows(1, 1003))
        assert ids(kept.place) == [*range(1004)]
        assert kept.waiting == 0


def test_a_folder_that_is_removed_begins_again_and_too_much_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = JournalFolder(tmp_path / "journal")
    kept.write(CLUSTER, rows(3))
    shutil.rmtree(kept.place)
    kept.place.write_text("in its place")
    with pytest.raises(OutputError, match="journal: File exists"):
        kept.write(CLUSTER, rows(2, 3))
    monkeypatch.setattr(folder, "KEPT", 40)
    with pytest.raises(OutputError):
        kept.write(CLUSTER, rows(5, 5))
    assert (kept.waiting, kept.missing) == (3, 4)
    kept.place.unlink()
    kept.write(CLUSTER, rows(0))
    assert ids(kept.place) == [3, 4, 5]
    assert len(load_clusters(kept.place / "cluster.toml")) == 1


REASONS = ("File exists", "No such file or directory", "Not a directory")
"""The others where the device had just looked that its folder is there, or is in it."""


def _put_a_file_in_place_of(folder: Path, device: Running) -> None:
    """The device stands still meanwhile, so it does not make the folder anew in between."""
    device.process.send_signal(signal.SIGSTOP)
    shutil.rmtree(folder)
    folder.write_text("in its place")
    device.process.send_signal(signal.SIGCONT)


def test_a_device_goes_on_while_its_journal_cannot_be_written(
    site: Path, device: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its folder is a file for a while: it says so once, and later that it writes again."""
    (cluster,) = load_clusters(site / "site.toml")
    with Req() as req, Rep() as rep:
        req.connect(device.requests)
        rep.bind(cluster.to_dict()["destination"][0]["address"])
        until((site / "journal" / "cluster.toml").exists)
        _put_a_file_in_place_of(site / "journal", device)
        with serving(rep, ""):
            for _ in range(3):
                assert req.request(b"", timeout=SECONDS) == b""
            said = device.said()
            assert said.startswith("WARNING journal: journal: ")
            assert said.removesuffix("; all else goes on, and it is tried again").endswith(REASONS)
            assert req.request(b"", timeout=SECONDS) == b""
            (site / "journal").unlink()
            assert device.said() == "WARNING journal: journal: it is written again"
            removed = "journal: it was removed, with its rows until now; it is begun anew"
            assert device.said() == f"WARNING journal: {removed}"
        until(lambda: seen(site, capsys)["own"]["state"] == "down")
    assert device.end() == (0, "")
    assert len((site / "journal" / "messages.jsonl").read_text().splitlines()) == 4


def test_a_journal_that_is_lost_at_the_end_is_said(site: Path, device: Running) -> None:
    _put_a_file_in_place_of(site / "journal", device)
    status, said = device.end()
    assert status == 2
    assert "journal: File exists; " in said
    assert "rows of the journal are lost" in said.splitlines()[-1]


# -------- Draining, looking, signals


def test_a_worker_is_drained_by_a_command_and_resumed(
    site: Path, device: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    (cluster,) = load_clusters(site / "site.toml")
    urls = {each["name"]: each["address"] for each in cluster.to_dict()["destination"]}
    command = ["endpoints", str(site / "site.toml"), "--json"]
    with Req() as req, Rep() as own, Rep() as far:
        for name, rep in {"own": own, "far": far}.items():
            rep.bind(urls[name])
            until(lambda name=name: seen(site, capsys)[name]["state"] == "up")
        req.connect(device.requests)
        asking = threading.Thread(target=req.request, args=(b"job",))
        asking.start()
        job = own.recv(timeout=SECONDS)
        assert run([*command, "--drain", "own"]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        (row,) = [each for each in lines if each["name"] == "own"]
        assert (row["state"], row["held"]) == ("draining", 1)
        with pytest.raises(SocketTimeoutError):
            far.recv(timeout=0.1)
        job.reply(b"")
        asking.join()
        with serving(far, "far "):
            assert req.request(b"q", timeout=SECONDS) == b"far q"
        assert run([*command, "--resume", "own"]) == 0
        capsys.readouterr()
        with serving(own, "own "):
            assert req.request(b"q", timeout=SECONDS) == b"own q"
        assert run([*command, "--drain", "nobody"]) == 2
        said = capsys.readouterr().err
        assert "site.toml: endpoint: found 'nobody', allowed: own, far" in said
        assert run([*command, "--drain", "own", "--interval", "1"]) == 2
    assert device.end() == (0, "")
    assert device.events("own")[:3] == ["joined", "draining", "failover"]
    assert "drained" in device.events("own")


def test_a_hangup_ends_nothing_and_reads_the_certificates_again(site: Path) -> None:
    first = new_identity(site)
    running = Running(
        *(site, "site.toml", "--bind", "tls+tcp://localhost:0"),
        *("--certificate", "certificate.pem", "--key", "key.pem"),
    )
    with Req(retry=0.1) as req:
        req.connect(running.requests, tls=first.client, name="device")
        until_up(req, "device")
        (site / "new").mkdir()
        second = new_identity(site / "new")
        for file in (second.certificate, second.key):
            shutil.copy(file, site / file.name)
        running.process.send_signal(signal.SIGHUP)
        assert running.process.stdout is not None
        assert running.process.stdout.readline() == "the certificates were read again\n"
        until_up(req, "device")
    with Req() as req:
        req.connect(running.requests, tls=second.client, name="device")
        until_up(req, "device")
    (site / "key.pem").write_text("nothing")
    running.process.send_signal(signal.SIGHUP)
    stays = "WARNING all stays as it was: certificate.pem and key.pem: found no"
    assert running.said().startswith(stays)
    assert running.end() == (0, "")


def test_only_who_shows_a_certificate_may_connect_where_that_is_asked(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    for each in (own, other):
        each.mkdir()
        new_identity(each)

    def context(files: Path | None) -> ssl.SSLContext:
        pem = () if files is None else (files / "certificate.pem", files / "key.pem")
        return authority(own / "certificate.pem", *pem)

    asks = identity(own / "certificate.pem", own / "key.pem", own / "certificate.pem")
    with Rep() as rep:
        url = rep.bind("tls+tcp://localhost:0", tls=asks)
        with Req() as req, serving(rep, ""):
            for name, tls in {"none": context(None), "other": context(other)}.items():
                req.connect(url, name=name, tls=tls)
            with pytest.raises(SocketTimeoutError):
                req.request(b"", timeout=0.3)
            req.connect(url, name="own", tls=context(own))
            assert req.request(b"q", timeout=SECONDS) == b"q"
            states = {each.name: each.state for each in req.endpoints()}
    assert states == {"none": "down", "other": "down", "own": "up"}
    with pytest.raises(SocketError, match="found no certificate, allowed: one or more in PEM"):
        identity(own / "certificate.pem", own / "key.pem", own / "key.pem")


def test_counters_are_read_over_http_on_loopback() -> None:
    with Device() as found, Rep() as rep, Req() as req, SocketMetrics(found, "0") as metrics:
        found.back.connect(rep.bind("tcp://127.0.0.1:0"), name='a "worker"')
        req.connect(found.front.bind("tcp://127.0.0.1:0"))
        with serving(rep, ""):
            req.request(b"", timeout=SECONDS)
        assert metrics.url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(metrics.url) as answer:  # noqa: S310
            lines = answer.read().decode().splitlines()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(metrics.url.replace("metrics", "other"))  # noqa: S310
        with pytest.raises(SocketError, match=r"metrics: 127.0.0.1:\d+: Address already in use"):
            SocketMetrics(found, metrics.url.split("/")[2])
    worker = r'{side="back",name="a \"worker\""}'
    assert f"fairlead_endpoint_sent_total{worker} 1" in lines
    assert f"fairlead_endpoint_held{worker} 0" in lines
    assert "# TYPE fairlead_endpoint_sent_total counter" in lines
    assert any(line.startswith("fairlead_endpoint_state{") for line in lines)
    for wrong in ("", "x", "70000", ":5", "127.0.0.1:"):
        with pytest.raises(SocketError, match="allowed: PORT or HOST:PORT"):
            SocketMetrics(found, wrong)


def test_the_journal_of_a_drained_device_is_decided_alike_again(
    site: Path, device: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    (cluster,) = load_clusters(site / "site.toml")
    urls = {each["name"]: each["address"] for each in cluster.to_dict()["destination"]}
    command = ["endpoints", str(site / "site.toml"), "--json"]
    with Req() as req, Rep() as own, Rep() as far:
        for name, rep in {"own": own, "far": far}.items():
            rep.bind(urls[name])
            until(lambda name=name: seen(site, capsys)[name]["state"] == "up")
        req.connect(device.requests)
        with serving(own, ""), serving(far, ""):
            for what in ("--resume", "--drain", "--resume"):
                assert run([*command, what, "own"]) == 0
                for _ in range(3):
                    req.request(b"", timeout=SECONDS)
    assert device.end() == (0, "")
    messages, changes = (
        [json.loads(line) for line in (site / "journal" / name).read_text().splitlines()]
        for name in ("messages.jsonl", "changes.jsonl")
    )
    (recorded,) = load_clusters(site / "journal" / "cluster.toml")
    again = oracle.route(recorded.to_dict(), messages, changes)
    assert [each.destination for each in again] == ["own"] * 3 + ["far"] * 3 + ["own"] * 3


# -------- The next morning


def test_what_happened_between_two_times_is_told_without_an_id(
    site: Path, device: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    (cluster,) = load_clusters(site / "site.toml")
    urls = {each["name"]: each["address"] for each in cluster.to_dict()["destination"]}
    with Req() as req, Rep() as far:
        own = Rep()
        for name, rep in {"own": own, "far": far}.items():
            rep.bind(urls[name])
            until(lambda name=name: seen(site, capsys)[name]["state"] == "up")
        req.connect(device.requests)
        with serving(far, "far "):
            with serving(own, "own "):  # which closes it
                for _ in range(3):
                    assert req.request(b"q", timeout=SECONDS) == b"own q"
            until(lambda: seen(site, capsys)["own"]["state"] == "down")
            for _ in range(2):
                assert req.request(b"q", timeout=SECONDS) == b"far q"
    assert device.end() == (0, "")
    journal = str(site / "journal")
    lines = (site / "journal" / "messages.jsonl").read_text().splitlines()
    times = [json.loads(line)["time"] for line in lines]
    begin, end = (
        datetime.fromtimestamp(at, UTC).isoformat() for at in (times[0] - 0.0005, times[-1] + 1)
    )
    assert run(["explain", journal, "--between", begin, end]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith("Z, site: 5 requests")
    assert ["own up since" in told[1], "far up since" in told[2]] == [True, True]
    assert told[1].endswith(", priority 1")
    rest = [line.split("Z ", 1)[1].strip() for line in told[3:]]
    assert rest[-1] == f"the journal {journal} ends here"
    assert rest[0].startswith("requests: own 3; the slowest took 0.")
    assert rest[1] == "own has gone, or hangs"
    assert rest[2].startswith("requests: far 2; the slowest took 0.")
    for wrong, said in {
        ("2:xx", "3:00"): "--between: found '2:xx', allowed: HH:MM, HH:MM:SS or YYYY",
        (end, begin): "allowed: the earlier time first",
        ("02:05", "02:00"): "allowed: the earlier time first",
        ("02:00+02:00", "02:10+02:00"): "found '02:00+02:00', allowed: HH:MM, HH:MM:SS or YYYY",
        ("2020-01-01T10:00", "2020-01-01T10:10"): "allowed: a time of which it has rows: ",
    }.items():
        assert run(["explain", journal, "--between", *wrong]) == 2
        assert said in capsys.readouterr().err
    assert run(["explain", journal, "--id", "1", "--between", begin, end]) == 2
    assert "explain --between goes with a device's journal" in capsys.readouterr().err
    assert run(["explain", str(site / "none"), "--between", begin, end]) == 2
    assert "none" in capsys.readouterr().err


def test_a_device_that_was_started_again_is_told_as_one(tmp_path: Path) -> None:
    """A journal of each start stands in the folder; where each begins and ends is said."""

    def at(minute: float) -> float:
        return datetime(2026, 11, 23, 2, tzinfo=UTC).timestamp() + 60 * minute

    for place, minutes in ((tmp_path / "j", (0, 1)), (tmp_path / "j" / "2", (4, 5))):
        place.mkdir()
        (place / "cluster.toml").write_text(folder.toml(CLUSTER.to_dict()))
        changes = [{"time": at(minutes[0]), "target": "destination:A", "attribute": "state"}]
        (place / "changes.jsonl").write_text(json.dumps({**changes[0], "value": "up"}) + "\n")
        asked = [
            {"time": at(minute), "destination": "A", "attempt": 1, "service_time": 0.5}
            for minute in minutes
        ]
        (place / "messages.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in asked))
    found = story(tmp_path / "j", "02:00:30", "02:10")
    assert found == [
        "2026-11-23T02:00:30.000Z to 2026-11-23T02:01:00.500Z, cluster: 1 requests",
        "  A up since 2026-11-23T02:00:00.000Z, priority 8",
        "2026-11-23T02:00:30.000Z   requests: A 1; the slowest took 0.500 s",
        f"2026-11-23T02:01:00.500Z the journal {tmp_path}/j ends here",
        "2026-11-23T02:04:00.000Z to 2026-11-23T02:05:00.500Z, cluster: 2 requests",
        f"  the journal {tmp_path}/j/2 begins here",
        "  A gone, never there, priority 8",
        "2026-11-23T02:04:00.000Z A has joined",
        "2026-11-23T02:04:00.000Z   requests: A 2; the slowest took 0.500 s",
        f"2026-11-23T02:05:00.500Z the journal {tmp_path}/j/2 ends here",
    ]
    assert story(tmp_path / "j", "02:04", "02:05")[0].endswith(" cluster: 1 requests")
    with pytest.raises(
        UserError, match=r"found .*T02:02.* to .*T02:03.*, allowed: a time of which"
    ):
        story(tmp_path / "j", "02:02", "02:03")


def test_it_is_told_for_how_long_a_worker_had_all_that_it_may_have(tmp_path: Path) -> None:
    begin = datetime(2026, 11, 23, 2, tzinfo=UTC).timestamp()
    busy = Cluster.of("nanomsg", destination=[{"name": "A", "capacity": 2}, {"name": "B"}])
    (tmp_path / "cluster.toml").write_text(folder.toml(busy.to_dict()))
    rows = [
        {"time": begin + at, "destination": name, "attempt": 1, "service_time": took}
        for at, name, took in ((0, "B", 100), (10, "A", 60), (20, "A", 40), (80, "A", 10))
    ]
    (tmp_path / "messages.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = story(tmp_path, "02:00", "02:01:40")
    assert found[-1].endswith(
        "A 3, B 1; the slowest took 100.000 s; at capacity: A 40% of the time"
    )


def test_a_journal_that_is_removed_begins_with_how_it_stood(tmp_path: Path) -> None:
    place = tmp_path / "j"
    journal = JournalFolder(place)
    state = {"target": "destination:A", "attribute": "state"}
    changes = [
        {"time": 1, **state, "value": "failed"},
        {"time": 2, **state, "value": "up"},
        {"time": 2, "target": "destination:A", "attribute": "present", "value": True},
    ]
    journal.write(CLUSTER, JournalStretch([], changes))
    shutil.rmtree(place)
    new = {"time": 3, **state, "value": "failed"}
    journal.write(CLUSTER, JournalStretch([{"id": "1"}], [new]))
    assert journal.begun_anew == 1
    written = [json.loads(line) for line in (place / "changes.jsonl").read_text().splitlines()]
    assert written == [changes[2], new]
    assert ids(place) == [1]
    journal.write(CLUSTER, rows(1, 2))
    assert (journal.begun_anew, ids(place)) == (1, [1, 2])


def test_a_time_without_a_day_is_the_last_one_before_the_journal_ends() -> None:
    latest = datetime(2026, 11, 23, 1, 30, tzinfo=UTC).timestamp()
    assert clock(moment("x", "01:00", latest)) == "2026-11-23T01:00:00.000Z"
    assert clock(moment("x", "23:50:10", latest)) == "2026-11-22T23:50:10.000Z"
    assert clock(moment("x", "2026-11-22T02:00+01:00", latest)) == "2026-11-22T01:00:00.000Z"
