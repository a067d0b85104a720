"""The command line, run in this process on a store of its own."""

import json
from typing import Any

import pytest

from fairlead import Store
from fairlead.cli.app import run


class Shell:
    """Runs commands on one store, and keeps what the last one said."""

    def __init__(self, url: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        self.url = url
        self.store = Store.open(url)
        self.capture = capfdbinary
        self.out = self.err = ""
        self.raw = b""

    def run(self, *arguments: str) -> int:
        self.capture.readouterr()
        status = run(arguments)
        self.raw, err = self.capture.readouterr()
        self.out, self.err = self.raw.decode(errors="replace"), err.decode()
        return status

    def ok(self, *arguments: str, said: str = "") -> str:
        assert self.run(*arguments) == 0, self.err
        assert said in self.err if said else self.err == ""
        return self.out

    def rows(self, *arguments: str, said: str = "") -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.ok(*arguments, "--json", said=said).splitlines()]
