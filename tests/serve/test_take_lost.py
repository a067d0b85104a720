"""A server loses its connection to the database while it takes for a client."""

from pathlib import Path

import pytest

from fairlead import Store
from tests.bounded import COMMAND
from tests.proxies import Proxy
from tests.serve.running import Running
from tests.stores import copied_url


@pytest.mark.costly
@pytest.mark.parametrize("limit", ["", "limit = [{ in_work = 100 }]"], ids=["plain", "limited"])
def test_what_no_client_got_is_given_soon_and_has_not_failed(limit: str, tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(f"[[queue]]\nname = 'q'\nmax_failures = 1\n{limit}\n")
    url = copied_url()
    with Store.open(url) as store, Proxy(url) as proxy:
        store.declare(tmp_path / "q.toml")
        server = Running(proxy.url, "--lease", "3600", log=tmp_path / "log", command=COMMAND)
        try:
            connection = server.connect()
            receiver = connection.create_receiver("q", credit=5)
            proxy.cut("fairlead._take(", passes_on=True)
            for n in range(3):
                store.send("q", n)
            for _ in range(3):
                receiver.receive(timeout=60)
                receiver.accept()
            connection.close()
        finally:
            server.end()
        assert proxy.cuts == 1
        assert store.dead("q") == []
        assert [each.messages for each in store.queues()] == [0]
