"""Messages and clusters for the benchmarks, the same on every run."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_A_FILE = 1_000_000
WEIGHTS = (5, 1, 3, 8, 2, 7, 4, 6)
STREAMS = 10
EPOCH = 1_700_000_000
HOT = 0.99
GROUPS = 100_000
GOES_DOWN = "D3"


def messages(folder: Path, rows: int, *, hot: bool = False, groups: int = GROUPS) -> Path:
    """id, time, queue, group, size and 100 bytes of payload, in no order; made once."""
    other = "" if groups == GROUPS else f"-of-{groups}-groups"
    place = folder / f"messages-{rows}{'-hot' if hot else ''}{other}"
    if place.exists():
        return place
    making = folder / f"making-{place.name}"
    making.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    for k in range(0, rows, ROWS_A_FILE):
        n = min(ROWS_A_FILE, rows - k)
        payload = random.bytes(n * 50).hex()
        times = EPOCH * 1_000_000 + random.integers(0, rows * 1_000, n)
        queues = random.integers(0, STREAMS, n)
        if hot:
            queues = np.where(random.random(n) < HOT, 0, queues)
        table = {
            "id": pa.array([f"m{i:09d}" for i in range(k, k + n)]),
            "time": pa.array(times, pa.timestamp("us", tz="UTC")),
            "queue": pa.array([f"q{q}" for q in queues]),
            "group": pa.array(random.integers(0, groups, n)).cast(pa.string()),
            "size": pa.array(random.integers(1, 10_000, n)),
            "payload": pa.array([payload[i * 100 : i * 100 + 100] for i in range(n)]),
        }
        pq.write_table(pa.table(table), making / f"part-{k // ROWS_A_FILE:05d}.parquet")
    making.rename(place)
    return place


def weighted(folder: Path) -> Path:
    """Ten clusters of eight weighted destinations: ten streams."""
    lines = []
    for stream in range(STREAMS):
        lines.append(f'[[cluster]]\nname = "q{stream}"\npolicy = "msmq"')
        for k, weight in enumerate(WEIGHTS):
            lines.append(f'[[cluster.destination]]\nname = "D{k}"\nweight = {weight}')
    place = folder / "weighted.toml"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def spots() -> list[str]:
    """Each destination as often as it weighs."""
    return [f"D{k}" for k, weight in enumerate(WEIGHTS) for _ in range(weight)]


def entangled(folder: Path) -> Path:
    """Fifty queues over eight channels, each queue on five of the eight queue managers."""
    lines = ['policy = "ibm-mq"\n[queue_manager]\nname = "HUB"\nclusters = ["C"]']
    for k, weight in enumerate(WEIGHTS):
        lines.append(f'[[remote]]\nname = "QM{k}"')
        lines.append(f'[[channel]]\nname = "TO.QM{k}"\nqueue_manager = "QM{k}"\nweight = {weight}')
    for queue in range(50):
        for k in range(5):
            home = f'queue_manager = "QM{(queue + k) % 8}"\nbind = "not-fixed"'
            lines.append(f'[[queue]]\nname = "ORDERS.{queue}"\n{home}')
    place = folder / "entangled.toml"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def changes(folder: Path, rows: int) -> Path:
    """Five changes of each cluster, spread over the time of the messages."""
    what = ("enabled,false", "enabled,true", "weight,9", "enabled,false", "enabled,true")
    lines = ["time,target,attribute,value"]
    for k, change in enumerate(what):
        time = EPOCH + rows * (k + 1) // 6_000
        target = (0, 0, 2, 3, 3)[k]
        lines += [f"{time},D{target}@q{stream},{change}" for stream in range(STREAMS)]
    place = folder / f"changes-{rows}.csv"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def down_and_back(folder: Path, rows: int) -> Path:
    """The heaviest destination goes down after a third of the time, and is back after two."""
    lines = ["time,target,attribute,value"]
    for thirds, state in ((1, "down"), (2, "up")):
        lines.append(f"{EPOCH + rows * thirds // 3_000},{GOES_DOWN},state,{state}")
    place = folder / f"down-and-back-{rows}.csv"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place
