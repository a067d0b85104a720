"""Plain data of `summary.json`, as a dispatch would leave it: small, and as large as it gets."""

from typing import Any

SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
START = 1_772_409_600 * SECOND
"""2026-03-02 00:00 UTC."""

EVIL = (
    "</script><script>document.title='broken'</script>",
    '"><img src=x onerror="document.title=1">',
    "a\nb",
    "<b>bold</b> & \u202ereversed",
    "<!--",
    "\u2028",
    "é名",
    "x" * 5_000,
)

Plain = dict[str, Any]


def share(name: str, messages: int, total: int, *, of: str = "pool", weight: int = 1) -> Plain:
    """A destination's share; it should have a third."""
    return {
        "cluster": of,
        "subject": None,
        "destination": name,
        "weight": weight,
        "expected": 1 / 3,
        "messages": messages,
        "share": messages / total,
    }


def series(name: str | None, counts: list[int], *, of: str | None = None) -> Plain:
    return {"cluster": of, "subject": None, "name": name, "counts": counts}


def words(cluster: str = "pool") -> Plain:
    """A policy in words."""
    return {
        "cluster": cluster,
        "policy": "msmq",
        "about": "weighted round robin: the machine with the lowest sent/weight",
        "steps": ["disabled: destinations that are not enabled are dropped"],
        "note": "",
        "destinations": [listed("A", "http://a:1", 1)],
    }


def listed(name: str, address: str, weight: int | None = None) -> Plain:
    """A destination as its file has it."""
    of = {"subject": None, "share": None, "condition": ""}
    return {"name": name, "address": address, "weight": weight, **of}


def small(**facts: object) -> Plain:
    """Nine messages to three destinations, nothing special; `facts` replace some."""
    shares = [share(name, n, 9) for name, n in (("A", 5), ("B", 3), ("C", 1))]
    over_time = {
        "start": START,
        "width": HOUR,
        "destinations": [
            series("A", [2, 0, 3], of="pool"),
            series("B", [1, 0, 2], of="pool"),
            series("C", [0, 0, 1], of="pool"),
        ],
        "outcomes": [series("routed", [3, 0, 6])],
        "levels": [],
    }
    return {
        "read": 9,
        "rejected": 0,
        "outcomes": {"routed": 9},
        "rows": 9,
        "digest": "6b8b1a0d1376d672000000026a4629ec",
        "phases": [{"since": None, "follows": False, "messages": 9, "rows": 9, "shares": shares}],
        "rejections": {},
        "seconds": 1.5,
        "blocks": 1,
        "facts": {
            "made": {
                "messages": "/data/calls.csv",
                "command": "fairlead dispatch /data/calls.csv -c pool.toml -o routed",
                "fairlead": "0.1.0",
                "pyspark": "4.3.0",
                "python": "3.11.7",
            },
            "period": {"first": START, "last": START + 3 * HOUR - 1},
            "over_time": over_time,
            "around_changes": None,
            "changes": {"number": 0, "times": 0, "first": []},
            "streams": {"number": 1, "busiest": [{"name": "pool", "messages": 9}]},
            "groups": None,
            "policies": {"number": 1, "shown": [words()], "destinations": [1]},
            **facts,
        },
    }


def full(destinations: int = 10_000, names: tuple[str, ...] = EVIL) -> Plain:
    """Everything that a report can tell, and a lot of it."""
    bins, phases = 150, 40
    everybody = [*names, *(f"D{k:05}" for k in range(destinations - len(names)))]
    clusters = ("shop", "lab<i>")
    each = 5_000
    shares = [
        share(name, each + 3 * each // (k + 1), 3 * each * destinations, of=clusters[k % 2])
        for k, name in enumerate(everybody)
    ]
    n = each * destinations
    top = [
        series(name, [40 * (1 + (k * b) % 7) for b in range(bins)], of=clusters[k % 2])
        for k, name in enumerate(everybody[:12])
    ]
    outcomes = ("control", "no-destination", "put-inhibited", "routed", "unknown-queue")
    seen = {
        "start": START,
        "width": 2 * HOUR,
        "destinations": [*top, series(None, [5_000 + 9 * b for b in range(bins)])],
        "outcomes": [
            series(outcome, [(k + b) % 9 * 100 for b in range(bins)])
            for k, outcome in enumerate(outcomes)
        ],
        "levels": [
            series(str(p), [(p * b) % 5 for b in range(bins)], of=cluster)
            for cluster in clusters
            for p in range(128)
        ],
    }
    times = [START + DAY + k * 5 * HOUR for k in range(phases - 1)]
    steps = [
        {"time": at, "changes": [f"{name} weight → 2" for name in everybody[:8]], "more": 92}
        for at in times
    ]
    plain = small(
        period={"first": START, "last": START + bins * 2 * HOUR - 1},
        over_time=seen,
        around_changes={**seen, "width": 600 * SECOND, "start": START + DAY},
        changes={"number": 3_900, "times": 39, "first": steps},
        streams={
            "number": 1_000_000,
            "busiest": [{"name": f"shop/{name}", "messages": 9 * each} for name in everybody[:20]],
        },
        groups={"number": 90_000, "spread": 1_234},
        policies={
            "number": 300,
            "shown": [
                {
                    **words(f"shop {k}"),
                    "destinations": [listed(name, name) for name in everybody[:50]],
                }
                for k in range(20)
            ],
            "destinations": [destinations] * 20,
        },
    )
    plain |= {
        "read": 50_000_700,
        "rejected": 700,
        "rows": 50_000_000,
        "outcomes": {"control": 17, "no-destination": 3, "routed": n, "unknown-queue": 9},
        "rejections": {f"time {k}: found nothing</script>": 14 for k in range(50)},
        "phases": [
            {"since": at, "follows": False, "messages": n, "rows": n, "shares": shares}
            for at in (None, *times)
        ],
    }
    return plain
