"""Under Spark Connect a store has the same tables."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.stores import made_url

from fairlead import Cluster, Store

SCRIPT = Path(__file__).with_name("connect_script.py")


@pytest.mark.slow
def test_the_same_is_read(connect: str, tmp_path: Path) -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        destinations = [{"name": "a", "queue": "qa"}, {"name": "b", "queue": "qb"}]
        store.keep_clusters([Cluster.of("round-robin", name="pool", destination=destinations)])
        for k in range(20):
            store.publish("pool", k, group=f"g{k}")
        events = [[event.position, event.kind] for event in store.journal()]
    command = [sys.executable, str(SCRIPT), connect, url, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["journal"] == sorted(events)
    assert [destination for _, destination in found["decisions"]] == ["a", "b"] * 10
    assert found["waiting"] == [[queue, k] for queue in ("qa", "qb") for k in range(1, 11)]
    assert found["streamed"] == len(events)
