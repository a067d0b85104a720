"""A door to a store through the command line, each command in this process."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any
from unittest import mock

from fairlead import Store
from fairlead.cli.app import run

from .doors_store import ALL, StoreDoor, micros_of
from .queues import Row
from .store import FULL, OTHER, UNKNOWN

REFUSED = 2
"""The status of a command whose user asked for what is not allowed."""
OPTIONS = ("group", "priority", "tenant", "cost", "id", "delay", "expires")


class OnCommandLine(StoreDoor):
    """Senders and operators at a shell; readers are programs."""

    def command(self, *words: object) -> tuple[int, str]:
        """The status, and what is printed, errors too."""
        with self._told_the_time(), redirect_stdout(StringIO()) as out, redirect_stderr(out):
            status = run([*map(str, words), "--store", self.url])
        return status, out.getvalue()

    @contextmanager
    def _told_the_time(self) -> Iterator[None]:
        """A command has no clock of its own: it gets the history's."""
        opened = Store.open

        def open_(url: str, **more: Any) -> Store:
            return opened(url, clock=self.clock, **more)

        with mock.patch.object(Store, "open", open_):
            yield

    def rows(self, *words: object) -> list[Row]:
        status, out = self.command(*words, "--json")
        assert status == 0, out
        return [json.loads(line) for line in out.splitlines()]

    def send(self, queue: str, messages: list[Row], actor: int = 0) -> Any:
        if len(messages) > 1:
            return super().send(queue, messages, actor)
        (said,) = messages
        more = [(f"--{name}", said[name]) for name in OPTIONS if said.get(name) not in (None, "")]
        status, out = self.command("send", queue, said["body"], *sum(more, ()))
        if status != REFUSED:
            return None
        return FULL if "max_waiting" in out else OTHER

    def prioritise(self, queue: str, group: str, priority: int | None) -> Any:
        to = [] if priority is None else ["--priority", priority]
        status, _ = self.command("promote", queue, group, *to, "--yes")
        return status == 0

    def switch(self, queue: str, on: bool) -> Any:
        _, out = self.command("switch", queue, "on" if on else "off")
        return "already" not in out

    def switch_tenant(self, queue: str, tenant: str, on: bool) -> Any:
        _, out = self.command("switch", queue, "on" if on else "off", "--tenant", tenant)
        return "already" not in out

    def requeue(self, queue: str, ids: list[str] | None) -> Any:
        return self._counted("dead", queue, *_chosen("retry", ids))

    def discard(self, queue: str, ids: list[str] | None) -> Any:
        return self._counted("dead", queue, *_chosen("drop", ids))

    def _counted(self, *words: object) -> Any:
        status, out = self.command(*words)
        found = re.search(r"(\d+) (?:message|dead letter)", out)
        return UNKNOWN if status == REFUSED or found is None else int(found[1])

    def pause(self, schedule: str, paused: bool) -> Any:
        _, out = self.command("schedules", schedule, "--pause" if paused else "--resume")
        return "already" not in out

    def look(self) -> dict[str, Any]:
        shown = super().look()
        for name in self.world.names:
            ranks = self.rows("waiting", name, "--most", ALL)
            shown[f"waiting {name}"] = [
                (each["group"], each["body"], each["messages"]) for each in ranks if each["place"]
            ]
            shown[f"later {name}"] = sorted(
                (micros_of(each["until"]), each["why"], each["group"], each["messages"])
                for each in ranks
                if each["place"] is None
            )
            dead = self.rows("dead", name, "--most", ALL)
            shown[f"dead {name}"] = sorted(
                ((each["body"], each["priority"]) for each in dead), key=repr
            )
        for each in self.rows("queues"):
            shown[f"on {each['queue']}"] = each["enabled"]
            shown[f"off {each['queue']}"] = each["off_tenants"]
            shown[f"metrics {each['queue']}"] = tuple(each[name] for name in COUNTS)
        return shown


COUNTS = ("messages", "ready", "working", "parked", "delayed", "dead", "failures")


def _chosen(what: str, ids: list[str] | None) -> list[str]:
    if ids is None:
        return [f"--{what}-all"]
    return [word for each in ids for word in (f"--{what}", each)]
