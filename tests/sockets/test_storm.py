"""A storm over two sites: each request has its reply, and is done again only where it may be."""

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from disks import disk

from .storm import CALM, Storm, touches
from .waiting import until


@pytest.mark.parametrize(
    ("faults", "requests"),
    [
        pytest.param(12, 300, id="12"),
        pytest.param(300, 50_000, id="300", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_whatever_happens_each_request_has_its_own_reply(
    faults: int, requests: int, folder: Path, tmp_path: Path
) -> None:
    with disk(tmp_path / "disk", "64m") as small:
        storm = Storm(folder, small)
        try:
            until(lambda: len({each.body.split("-")[0] for each in storm.asked()}) >= 5)
            storm.rage(faults, random.Random(faults), pause=0.8, longest=3)  # noqa: S311
            while len(storm.asked()) < requests:
                storm.rage(1, random.Random(), pause=1, longest=1)  # noqa: S311
            time.sleep(2 * CALM)
            storm.end_clients()
            assert storm.end_devices() == [0, 0]
            found, done = storm.asked(), storm.executed()
        finally:
            storm.close()
    wrong = [each for each in found if each.trouble != "-"]
    again = [each for each in found if len(done.get(each.body, ())) > 1]
    unexplained = [
        (each, done[each.body])
        for each in again
        if not any(
            touches(fault, each, [name for _, name in done[each.body]]) for fault in storm.faults
        )
    ]
    took = sorted((each.end - each.begin, each.body) for each in found)
    print(Counter(fault.kind for fault in storm.faults), len(found), "requests")
    print("more than once:", len(again), "; slowest:", took[-3:], "; p50:", took[len(took) // 2])
    assert not wrong
    assert not unexplained
