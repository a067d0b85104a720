"""`fairlead device` and `fairlead endpoints`, in processes of their own."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.ports import free_port

import oracle
from fairlead import load_clusters
from fairlead.cli.app import run
from fairlead.sockets import Rep, Req, status
from sockets.identity import new_identity
from sockets.test_req_rep import serving
from sockets.waiting import until

MAIN = "from fairlead.cli import main; main()"
SECONDS = 60
PLAIN = ["device", "site.toml", "--bind", "tcp://*:0"]
SECURE = ["device", "site.toml", "--bind", "tls+tcp://*:0"]


class Running:
    """A device in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.options = options
        self.process = subprocess.Popen(
            [sys.executable, "-c", MAIN, "device", *options],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        assert self.process.stdout is not None
        self.requests = self.process.stdout.readline().removeprefix("requests: ").rstrip()

    def end(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=SECONDS)
        self.log += [line for line in said.splitlines() if " event=" in line]
        others = [line for line in said.splitlines() if " event=" not in line]
        return self.process.returncode, "\n".join(others)

    def said(self) -> str:
        """The next line of its log that is no event, without the time."""
        assert self.process.stderr is not None
        while " event=" in (line := self.process.stderr.readline()):
            self.log.append(line)
        return line.partition("Z ")[2].rstrip("\n")

    def events(self, peer: str) -> list[str]:
        """What was logged of a peer, when it has ended."""
        words = [line.split() for line in self.log if f'peer="{peer}"' in line]
        return [word.removeprefix("event=") for line in words for word in line if "event=" in word]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with two workers' addresses, of which nobody is there."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tables = "".join(
        f'[[destination]]\nname = "{name}"\naddress = "tcp://127.0.0.1:{free_port()}"\n'
        f"priority = {priority}\n"
        for name, priority in {"own": 1, "far": 2}.items()
    )
    (tmp_path / "site.toml").write_text(f'policy = "nanomsg"\n{tables}')
    return tmp_path


@pytest.fixture
def device(site: Path) -> Iterator[Running]:
    options = ["site.toml", "--bind", "tcp://127.0.0.1:0", "--journal", "journal"]
    found = Running(site, *options)
    yield found
    found.process.kill()
    found.process.communicate()


def seen(site: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    assert run(["endpoints", str(site / "site.toml"), "--once", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row["name"]: row for row in rows}


def test_a_device_forwards_is_looked_at_and_leaves_a_journal(
    site: Path, device: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    (cluster,) = load_clusters(site / "site.toml")
    urls = {each["name"]: each["address"] for each in cluster.to_dict()["destination"]}
    assert seen(site, capsys)["own"]["trouble"] == "Connection refused"
    with Req() as req, Rep() as own, Rep() as far:
        req.connect(device.requests)
        for name, rep in {"own": own, "far": far}.items():
            rep.bind(urls[name])
            until(lambda name=name: seen(site, capsys)[name]["state"] == "up")
        for rep in (own, far):
            asking = threading.Thread(target=req.request, args=(b"q",))
            asking.start()
            rep.recv(timeout=SECONDS).reply(b"a")
            asking.join()
            own.close()
            until(lambda: seen(site, capsys)["own"]["state"] == "down")
    found = seen(site, capsys)
    assert [found[name]["sent"] for name in ("own", "far")] == [1, 1]
    assert run(["endpoints", str(site / "site.toml")]) == 0  # one look, as nobody sees another
    assert capsys.readouterr().out.startswith("side ")
    assert device.end() == (0, "")
    assert device.events("own") == ["joined", "left", "failover"]
    assert device.events("far") == ["joined", "left", "failover"]
    assert 'why="from priority 1 to priority 2: it has left: closed by the peer"' in "".join(
        device.log
    )
    journal = site / "journal"
    rows, changes = (
        [json.loads(line) for line in (journal / name).read_text().splitlines()]
        for name in ("messages.jsonl", "changes.jsonl")
    )
    (recorded,) = load_clusters(journal / "cluster.toml")
    again = oracle.route(recorded.to_dict(), rows, changes)
    assert [each.destination for each in again] == ["own", "far"]
    assert not [*(site / f"fairlead-{os.getuid()}").iterdir()]


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_journal_says_on_spark_what_would_have_been_under_other_priorities(
    site: Path, device: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    (cluster,) = load_clusters(site / "site.toml")
    with Req() as req, ExitStack() as stack:
        req.connect(device.requests)
        for each in cluster.to_dict()["destination"]:
            rep = stack.enter_context(Rep())
            rep.bind(each["address"])
            stack.enter_context(serving(rep, ""))
        for name in ("own", "far"):
            until(lambda name=name: seen(site, capsys)[name]["state"] == "up")
        for _ in range(6):
            req.request(b"", timeout=SECONDS)
    assert device.end() == (0, "")
    journal = site / "journal"
    own, equal = journal / "cluster.toml", journal / "equal.toml"
    equal.write_text(own.read_text().replace("priority = 2", "priority = 1"))
    messages, changes = str(journal / "messages.jsonl"), str(journal / "changes.jsonl")
    given = [messages, "--changes", changes]
    for file, moved in {own: "0 of 6", equal: "3 of 6"}.items():
        out = str(site / file.stem)
        assert run(["dispatch", *given, "--cluster", str(file), "--out", out]) == 0
        assert run(["diff", messages, out]) == 0
        assert f"moved: {moved}" in capsys.readouterr().out
    both = ["--cluster", str(own), "--cluster", str(equal)]
    assert run(["replay", *given, *both, "--out", str(site / "replayed")]) == 0
    assert "equal" in capsys.readouterr().out


def test_one_device_runs_with_a_file_and_writes_no_journal_over_another(
    site: Path, device: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(site / "site.toml")
    assert run(["device", file, "--bind", "tcp://127.0.0.1:0"]) == 2
    assert "found a device that runs with the same file" in capsys.readouterr().err
    other = site / "other.toml"
    other.write_text((site / "site.toml").read_text())
    full = ["--journal", str(site)]
    assert run(["device", str(other), "--bind", "tcp://127.0.0.1:0", *full]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "found files there, allowed: a new or an empty folder, or one with a j" in said.err
    assert device.requests


def test_a_device_says_how_it_follows_its_file_and_what_it_cannot_follow(
    site: Path, device: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    file = site / "site.toml"
    before = file.read_text()
    out = device.process.stdout
    assert out is not None
    assert out.readline() == "journal: journal\n"
    new = '[[destination]]\nname = "new"\naddress = "tcp://127.0.0.1:1"\n'
    file.write_text(f"{before}capacity = 2\n{new}")
    assert out.readline() == "site.toml: added new, far: capacity 2\n"
    assert "new" in seen(site, capsys)
    stays = "WARNING all stays as it was: site.toml"
    file.write_text(before.replace("priority = 1", "priority = 3"))
    assert device.said() == (
        f"{stays}: destination 'own': attribute priority: an endpoint keeps the priority it was "
        "added with; one with another priority needs another name"
    )
    file.write_text(before + '[[destination]]\nname = "bare"\n')
    assert device.said().startswith(f"{stays}: destination 'bare': address: found none, allow")
    assert "new" in seen(site, capsys)
    file.unlink()
    assert device.said() == f"{stays}: No such file or directory"
    file.write_text(before)
    assert out.readline() == "site.toml: removed new, far: capacity 0\n"
    assert "new" not in seen(site, capsys)
    assert device.end() == (0, "")


def test_a_device_that_was_killed_starts_again_with_the_same_command(
    site: Path, device: Running
) -> None:
    (cluster,) = load_clusters(site / "site.toml")
    own = cluster.to_dict()["destination"][0]["address"]
    killed = device
    for name in (".", "2"):
        with Req() as req, Rep() as rep:
            req.connect(killed.requests)
            rep.bind(own)
            with serving(rep, ""):
                assert req.request(b"", timeout=SECONDS) == b""
            rows = site / "journal" / name / "messages.jsonl"
            until(lambda rows=rows: rows.read_bytes().endswith(b"\n"))
        killed.process.kill()
        killed.process.communicate()
        killed = Running(site, *device.options)
    assert killed.end() == (0, "")
    for name in (".", "2", "3"):
        folder = site / "journal" / name
        rows, changes = (
            [json.loads(line) for line in (folder / name).read_text().splitlines()]
            for name in ("messages.jsonl", "changes.jsonl")
        )
        (recorded,) = load_clusters(folder / "cluster.toml")
        again = oracle.route(recorded.to_dict(), rows, changes)
        assert [each.destination for each in again] == ["own"] * (name != "3")


def test_a_device_that_cannot_bind_says_only_why(
    site: Path, device: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    other = site / "other.toml"
    other.write_text((site / "site.toml").read_text())
    both = ["--bind", "tcp://127.0.0.1:0", "--bind", device.requests]
    assert run(["device", str(other), *both, "--journal", str(site / "none")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Address already in use" in said.err
    assert not (site / "none").exists()


def test_a_device_binds_with_a_certificate_and_trusts_its_workers_authority(site: Path) -> None:
    own = new_identity(site)
    file = site / "site.toml"
    file.write_text(file.read_text().replace("tcp://127.0.0.1", "tls+tcp://localhost"))
    (cluster,) = load_clusters(file)
    tables = {each["name"]: each["address"] for each in cluster.to_dict()["destination"]}
    options = ["--certificate", "certificate.pem", "--key", "key.pem"]
    trusts = ["--authority", "certificate.pem"]
    running = Running(site, "site.toml", "--bind", "tls+tcp://localhost:0", *options, *trusts)
    with Req() as req, Rep() as rep:
        rep.bind(tables["own"], tls=own.server)
        req.connect(running.requests, tls=own.client)
        answering = threading.Thread(target=lambda: rep.recv(timeout=SECONDS).reply(b"a"))
        answering.start()
        assert req.request(b"q", timeout=SECONDS) == b"a"
        answering.join()
    assert running.end() == (0, "")


def test_a_look_again_and_again_ends_at_a_signal(site: Path, device: Running) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "endpoints", "site.toml", "--interval", "0.1"],
        cwd=site,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as looking:
        assert looking.stdout is not None
        while not looking.stdout.readline().startswith("back "):
            pass
        looking.send_signal(signal.SIGINT)
        _, said = looking.communicate(timeout=SECONDS)
    assert (looking.returncode, said) == (130, "fairlead: stopped\n")
    assert device.requests


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "SECONDS", 0.2)


def refusal(capsys: pytest.CaptureFixture[str], file: Path) -> str:
    """The one line with which a look is refused."""
    assert run(["endpoints", str(file), "--once"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.usefixtures("impatient")
def test_a_look_at_a_device_that_hangs_or_was_killed_is_refused_in_a_line(
    site: Path, device: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    file = site / "site.toml"
    device.process.send_signal(signal.SIGSTOP)
    assert "found a device that does not answer within 0.2 s" in refusal(capsys, file)
    device.process.kill()
    device.process.wait()
    assert "found no device that this user" in refusal(capsys, file)
    file.unlink()
    assert "found no such file and no device that runs with it" in refusal(capsys, file)


@pytest.mark.usefixtures("impatient")
def test_a_device_is_found_by_the_name_of_its_file_from_the_same_folder_only(
    site: Path,
    device: Running,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file, other = site / "site.toml", site / "other.toml"
    file.rename(other)
    file.symlink_to(other)  # the name leads elsewhere by now
    assert {*seen(site, capsys)} >= {"own", "far"}
    assert "found no device that this user" in refusal(capsys, other)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(site / "nowhere"))
    assert "No such file or directory, allowed: a folder for the sockets" in refusal(capsys, file)
    assert device.requests


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["endpoints", "site.toml", "--once"], "found no device that this user"),
        (["endpoints", "."], ".: found a folder, allowed: a cluster file"),
        (["device", ".", "--bind", "tcp://*:0"], ".: found a folder, allowed: a cluster file"),
        (["device", "all.toml", "--bind", "tcp://*:0"], "all.toml: policy: found 'broadcast'"),
        (["device", "at.toml", "--bind", "tcp://*:0"], "at.toml: destination 'A': address: found"),
        (["device", "site.toml"], "--bind"),
        (["device", "site.toml", "--bind", "here"], "address: found 'here'"),
        ([*PLAIN, "--max-ttl", "16"], "--max-ttl: found 16"),
        ([*PLAIN, "--name", "b"], "allowed: one of site"),
        ([*PLAIN, "--attempts", "-1"], "--attempts: found"),
        (SECURE, "--certificate: found none for tls"),
        ([*PLAIN, "--certificate", "c.pem"], "--certificate: found no address that has one"),
        ([*PLAIN, "--key", "k.pem"], "--key: found no --certificate, allowed: both"),
        ([*PLAIN, "--authority", "a.pem"], "a.pem: No such file or directory"),
        ([*SECURE, "--certificate", "c.pem"], "c.pem: No such file or directory"),
        ([*SECURE, "--certificate", "site.toml"], "site.toml: found no certificate and key"),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_what_cannot_be_is_refused_in_a_line(
    site: Path,
    command: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(site)
    Path("all.toml").write_text('policy = "broadcast"\n[[destination]]\nname = "A"\n')
    Path("at.toml").write_text(
        'policy = "nanomsg"\n[[destination]]\nname = "A"\naddress = "here"\n'
    )
    assert run(command) == 2
    assert said in capsys.readouterr().err
