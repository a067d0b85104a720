"""A RabbitMQ of one's own, as Debian has it: AMQP 1.0 by its plugin, and queues that last."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""Not the one in the path, which becomes another user."""
START = 60.0
"""Seconds until it listens, at most."""


CONTROL = Path("/usr/lib/rabbitmq/bin/rabbitmqctl")


class Control:
    """Commands a server that runs."""

    def __init__(self, names: dict[str, str]) -> None:
        """`names`: the environment in which the server was started."""
        self._names = names

    def __call__(self, *words: str) -> str:
        """What a command of rabbitmqctl prints."""
        return subprocess.run(
            [CONTROL, "-q", "-n", self._names["RABBITMQ_NODENAME"], *words],
            env=self._names,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout


class RabbitMq:
    """A server in a folder, with durable queues; it can be killed, and started again."""

    def __init__(self, folder: Path, queues: Sequence[str], plugins: Sequence[str] = ()) -> None:
        """`plugins`: besides the one for AMQP 1.0. Nothing runs before `start`."""
        folder.mkdir()
        self.port, *others = _free(3)
        self.names = {**os.environ, **_settings(folder, queues, self.port, *others, plugins)}
        self._programs: list[subprocess.Popen[bytes]] = []

    @staticmethod
    def is_there() -> bool:
        """Whether it is installed."""
        return shutil.which("epmd") is not None and SERVER.exists()

    def start(self) -> None:
        """Until it listens."""
        epmd = shutil.which("epmd")
        assert epmd is not None
        if not self._programs:  # else the server leaves one behind
            self._programs.append(subprocess.Popen([epmd], env=self.names))
        server = subprocess.Popen(
            [SERVER], env=self.names, stdout=subprocess.DEVNULL, start_new_session=True
        )
        self._programs.append(server)
        _wait_for(self.port)

    def kill(self) -> None:
        """The server goes, without a word."""
        server = self._programs.pop()
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        with suppress(OSError):  # it is closed a moment later
            while True:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                time.sleep(0.05)

    def stop(self) -> None:
        """All goes."""
        for program in reversed(self._programs):
            program.terminate()
            program.wait()
        self._programs.clear()


@contextmanager
def rabbitmq(
    folder: Path, queues: Sequence[str], *plugins: str, control: list[Control] | None = None
) -> Iterator[int | None]:
    """A server in a folder, with these durable queues; its port, None: it is not installed.

    `plugins`: besides the one for AMQP 1.0. `control`: gets what commands it.
    """
    if not RabbitMq.is_there():
        yield None
        return
    server = RabbitMq(folder, queues, plugins)
    if control is not None:
        control.append(Control(server.names))
    try:
        server.start()
        yield server.port
    finally:
        server.stop()


def address(queue: str) -> str:
    """That of a queue which is there."""
    return f"/amq/queue/{queue}"


def _settings(
    folder: Path,
    queues: Sequence[str],
    port: int,
    between: int,
    names: int,
    plugins: Sequence[str],
) -> dict[str, str]:
    place = {"vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
    guest = {"name": "guest", "password": "guest", "tags": "administrator"}
    may = {"user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
    definitions = {
        "users": [guest],
        "vhosts": [{"name": "/"}],
        "permissions": [may],
        "queues": [{"name": each, **place} for each in queues],
    }
    (folder / "definitions.json").write_text(json.dumps(definitions))
    (folder / "plugins").write_text(f"[{','.join(['rabbitmq_amqp1_0', *plugins])}].\n")
    (folder / "rabbitmq.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{port}\nload_definitions = {folder}/definitions.json\n"
    )
    return {
        "HOME": str(folder),
        "RABBITMQ_NODENAME": "fairlead@localhost",
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_DIST_PORT": str(between),
        "ERL_EPMD_PORT": str(names),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }


def _free(count: int) -> list[int]:
    """Ports that nobody uses."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return found


def _wait_for(port: int) -> None:
    until = time.monotonic() + START
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise TimeoutError(f"RabbitMQ: it does not listen after {START:g} seconds")
