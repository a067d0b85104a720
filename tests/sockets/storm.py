"""Two sites, their devices, workers and clients, in processes of their own, and what harms them.

Each site has a device, whose journal is on a small disk, two workers and clients of each kind; the
other site's device is behind it at a worse priority. Each connection leads through a link, which
can be cut, or fall silent.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tests.ports import free_port

from .asker import TIMEOUT
from .links import Link, Links

HERE: Final = Path(__file__).parent
MAIN: Final = "from fairlead.cli import main; main()"
SITES: Final = ("east", "west")
PAUSE: Final = 0.05
"""Seconds between two requests of a client's thread, about."""
CALM: Final = 3
"""Seconds after a fault in which something may still be done again because of it."""


class Fault(NamedTuple):
    """What was done to what, and when it was over."""

    kind: str
    target: str
    begin: float
    end: float


class Asked(NamedTuple):
    """One request, as its client saw it."""

    body: str
    begin: float
    end: float
    trouble: str


class Program:
    """A process that is harmed and mended."""

    def __init__(self, name: str, command: list[str], folder: Path) -> None:
        self.name, self._command, self._folder = name, command, folder
        self.process: subprocess.Popen[bytes]
        self.links: list[Link] = []
        """Of connections that it accepts."""
        self.start()

    def start(self) -> None:
        with (self._folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self._command],
                cwd=self._folder,
                env={**os.environ, "XDG_RUNTIME_DIR": str(self._folder)},
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), f"{self.name} has not started"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def take_files(self) -> None:
        """It can open no more, and has to, as whoever was connected comes again."""
        number = len([*Path(f"/proc/{self.process.pid}/fd").iterdir()])
        _, self._most = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (number - 1, self._most))
        for each in self.links:
            each.cut()
            each.mend()

    def give_files(self) -> None:
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (self._most, self._most))


class Storm:
    """All of it. To be closed."""

    def __init__(self, folder: Path, disk: Path) -> None:
        """`folder`: a short path; `disk`: small, for the journals."""
        self._folder, self._disk = folder, disk
        self._links = Links()
        self.faults: list[Fault] = []
        self._harms: list[tuple[str, str, Callable[[], None], Callable[[], None]]] = []
        self._harmed: set[str] = set()
        self._programs: list[Program] = []
        self._clients: list[subprocess.Popen[bytes]] = []
        self._one_by_one = threading.Event()
        self.cats: list[Asked] = []
        ports = {site: free_port() for site in SITES}
        workers = {
            f"{site}-{kind}": self._worker(f"{site}-{kind}", kind)
            for site in SITES
            for kind in ("fairlead", "nng")
        }
        for site, other in (SITES, SITES[::-1]):
            own = [
                self._link(f"{site}>{name}", worker[0], worker[1])
                for name, worker in workers.items()
                if name.startswith(site)
            ]
            across = self._link(f"{site}>{other}", ports[other])
            self._device(site, ports[site], [*own, across])
        devices = {each.name: each for each in self._programs if each.name in SITES}
        for site, other in (SITES, SITES[::-1]):
            near = self._link(f"{site}-clients>{site}", ports[site], devices[site])
            far = self._link(f"{site}-clients>{other}", ports[other], devices[other])
            self._client("fairlead", f"{site}.fairlead", near, far)
            self._client("nng", f"{site}.nng", near)
        direct = [
            self._link(f"direct>{name}", port, worker) for name, (port, worker) in workers.items()
        ]
        self._client("fairlead", "direct", *direct)
        self._cats = threading.Thread(target=self._run_cats, args=(near,))
        self._cats.start()
        self._can("full", "disk", self._fill, self._empty)

    # -------- who is there

    def _worker(self, name: str, kind: str) -> tuple[int, Program]:
        port = free_port()
        url = f"tcp://127.0.0.1:{port}"
        done = str(self._folder / "executed")
        return port, self._program(name, [str(HERE / "worker.py"), kind, url, name, done])

    def _device(self, site: str, port: int, links: list[Link]) -> None:
        tables = [
            f'[[destination]]\nname = "d{k}"\naddress = "{link.url}"\npriority = {k // 2 + 1}\n'
            + ("capacity = 4\n" if k < 2 else "")
            for k, link in enumerate(links)
        ]
        file = self._folder / f"{site}.toml"
        file.write_text("\n".join([f'policy = "nanomsg"\nname = "{site}"\n', *tables]))
        command = ["-c", MAIN, "device", str(file), "--bind", f"tcp://127.0.0.1:{port}"]
        more = ["--resend", "2", "--retry", "0.2", "--journal", str(self._disk / site)]
        self._program(site, [*command, *more])

    def _program(self, name: str, command: list[str]) -> Program:
        program = Program(name, command, self._folder)
        self._programs.append(program)
        self._can("kill", name, program.kill, program.start)
        self._can("stop", name, program.stop, program.go_on)
        self._can("files", name, program.take_files, program.give_files)
        return program

    def _link(self, name: str, port: int, accepts: Program | None = None) -> Link:
        link = self._links.to(port)
        if accepts is not None:
            accepts.links.append(link)
        self._can("cut", name, link.cut, link.mend)
        self._can("silent", name, link.silent, link.mend)
        return link

    def _client(self, kind: str, name: str, *links: Link) -> None:
        command = [sys.executable, str(HERE / "asker.py"), kind, name]
        file = self._folder / f"{name}.asked"
        self._clients.append(
            subprocess.Popen(
                [*command, str(file), str(PAUSE), *(each.url for each in links)],
                stdin=subprocess.PIPE,
            )
        )

    def _run_cats(self, link: Link) -> None:
        """nngcat, where it is installed: a process for each request."""
        program = shutil.which("nngcat")
        number = 0
        while program is not None and not self._one_by_one.wait(PAUSE):
            body = f"cat-0-{number}"
            number += 1
            begin = time.time()
            command = [program, "--req", "--connect", link.url, "--data", body, "-Q"]
            found = run_to_its_end(command)
            while "Unable to dial" in found.stderr:  # it tries once
                time.sleep(PAUSE)
                found = run_to_its_end(command)
            right = found.stdout.strip('"\n').split(" ")[1:] == [body]
            self.cats.append(Asked(body, begin, time.time(), "-" if right else str(found)))

    # -------- what harms it

    def _can(
        self, kind: str, target: str, harm: Callable[[], None], mend: Callable[[], None]
    ) -> None:
        self._harms.append((kind, target, harm, mend))

    def _fill(self) -> None:
        with (self._disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(65_536))
        with (self._disk / "filler").open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1))

    def _empty(self) -> None:
        (self._disk / "filler").unlink()

    def rage(self, faults: int, chance: random.Random, *, pause: float, longest: float) -> None:
        """So many faults, of each kind as many; up to three things are harmed at once."""
        kinds = [*dict.fromkeys(kind for kind, *_ in self._harms)]
        running: list[threading.Thread] = []
        for k in range(faults):
            harms = [
                each
                for each in self._harms
                if each[0] == kinds[k % len(kinds)] and each[1] not in self._harmed
            ]
            each = chance.choice(harms)
            self._harmed.add(each[1])
            lasts = chance.uniform(0.05, longest)
            running.append(threading.Thread(target=self._harm, args=(*each, lasts)))
            running[-1].start()
            time.sleep(chance.expovariate(1 / pause))
            while len(self._harmed) > 2:
                time.sleep(0.05)
        for thread in running:
            thread.join()

    def _harm(
        self,
        kind: str,
        target: str,
        harm: Callable[[], None],
        mend: Callable[[], None],
        lasts: float,
    ) -> None:
        begin = time.time()
        harm()
        time.sleep(lasts)
        mend()
        self.faults.append(Fault(kind, target, begin, time.time()))
        self._harmed.discard(target)

    # -------- what came of it

    def asked(self) -> list[Asked]:
        """Each request that has ended."""
        found = [*self.cats]
        for file in self._folder.glob("*.asked"):
            for line in file.read_text().splitlines():
                body, begin, end, trouble = line.split(" ", 3)
                found.append(Asked(body, float(begin), float(end), trouble))
        return found

    def executed(self) -> dict[str, list[tuple[float, str]]]:
        """When each request was begun with, and by whom."""
        found: dict[str, list[tuple[float, str]]] = {}
        for line in (self._folder / "executed").read_text().splitlines():
            body, at, worker = line.split(" ")
            found.setdefault(body, []).append((float(at), worker))
        return found

    def end_clients(self) -> None:
        """Let them have their last replies."""
        self._one_by_one.set()
        self._cats.join()
        for each in self._clients:
            assert each.stdin is not None
            each.stdin.close()
            assert each.wait() == 0

    def end_devices(self) -> list[int]:
        """Their exit codes."""
        devices = [each.process for each in self._programs if each.name in SITES]
        for each in devices:
            each.terminate()
            each.wait()
        return [each.returncode for each in devices]

    def close(self) -> None:
        for each in self._programs:
            each.kill()
        for process in self._clients:
            process.kill()
            process.wait()
        self._links.close()


def run_to_its_end(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=3 * TIMEOUT)


def touches(fault: Fault, asked: Asked, workers: list[str]) -> bool:
    """Whether it may be the reason why something was late, or was done again."""
    if fault.begin > asked.end or fault.end + CALM < asked.begin:
        return False
    client = asked.body.split("-")[0]
    where = fault.target.split(">")[-1]
    if client == "direct":
        return where in workers and (">" not in fault.target or fault.target.startswith(client))
    return not fault.target.startswith("direct") and fault.kind != "full"
