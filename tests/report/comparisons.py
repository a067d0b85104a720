"""Plain data of `comparison.json`, as a replay would leave it: small, and as large as it gets."""

from tests.report.summaries import EVIL, SECOND, START, Plain

MADE = {
    "messages": "/data/calls.csv",
    "command": "fairlead replay /data/calls.csv -c pool.toml -c more.toml -o replayed",
    "fairlead": "0.1.0",
    "pyspark": "4.3.0",
    "python": "3.11.7",
}


def waits(name: str, p99: float, messages: int = 100) -> Plain:
    """Waits of a name; all others follow from the 99th percentile."""
    return {
        "name": name,
        "messages": messages,
        "mean": p99 / 4,
        "p50": 0.0 if p99 < 2 else p99 / 8,
        "p90": p99 / 2,
        "p99": p99,
        "max": p99 * 2,
    }


def worker(name: str, used: float | None, of: str = "pool") -> Plain:
    return {
        "cluster": of,
        "destination": name,
        "messages": 100,
        "busy": 60.0,
        "utilisation": used,
    }


def scenario(name: str, p99: float, **given: object) -> Plain:
    """200 messages to two destinations, of two priorities; `given` replaces some."""
    return {
        "name": name,
        "messages": 200,
        "outcomes": {"routed": 200},
        "waiting": 0,
        "redeliveries": 0,
        "failovers": 0,
        "waits": waits("", p99, 200),
        "by_destination": [waits("A", p99 * 1.5), waits("B", p99 / 2)],
        "by_priority": [waits("", p99 * 1.25), waits("5", 1.0)],
        "by_tenant": [waits("", p99, 200)],
        "workers": [worker("A", 0.8, name), worker("B", 0.6, name)],
        "queue": {"start": START, "width": 60 * SECOND, "waiting": [3, 7, 0]},
        "waits_over_time": {
            "start": START,
            "width": 60 * SECOND,
            "messages": [90, 0, 110],
            "p50": [0.0, None, 1.0],
            "p99": [p99, None, p99 / 2],
        },
        "use": {"start": START, "width": 60 * SECOND, "utilisation": [0.5, 1.0, None]},
        "groups": 40,
        "groups_out_of_order": 2,
        "digest": f"digest of {name[:40]}",
        "changes": {"number": 0, "times": 0, "first": []},
        **given,
    }


def replayed(*scenarios: Plain, **given: object) -> Plain:
    """What these scenarios found."""
    return {
        "read": 203,
        "rejected": 3,
        "rejections": {"priority": 1, "time": 2},
        "scenarios": list(scenarios),
        "seconds": 4.5,
        "made": MADE,
        **given,
    }


def two(**given: object) -> Plain:
    """`pool`, and `more`, in which the wait is half as long."""
    return replayed(scenario("pool", 8.0), scenario("more", 4.0), **given)


def changes(*steps: tuple[int, str]) -> Plain:
    """What happened: (seconds after the start, change)."""
    first = [{"time": START + at * SECOND, "changes": [change], "more": 0} for at, change in steps]
    return {"number": len(first), "times": len(first), "first": first}


def large(scenarios: int = 1_000, names: int = 10) -> Plain:
    """Many scenarios of many destinations, with names that would like to be markup."""
    whom = [*EVIL, *(f"D{k:05}" for k in range(names))][:names]
    called = [*EVIL, *(f"S{k:04}" for k in range(scenarios))][:scenarios]
    many = [
        scenario(
            name,
            3.0 + (k * 37) % scenarios,
            by_destination=[waits(each, 1.0 + (k * n) % 50) for n, each in enumerate(whom)],
            by_tenant=[waits(each, 1e-6 * 10 ** (n % 12)) for n, each in enumerate(whom)],
            workers=[worker(each, 0.1 * (n % 10), EVIL[n % 2]) for n, each in enumerate(whom)],
            queue={
                "start": START,
                "width": 60 * SECOND,
                "waiting": [(b * k) % 97 for b in range(150)],
            },
            waits_over_time={
                "start": START,
                "width": 60 * SECOND,
                "messages": [9] * 150,
                "p50": [1.0 + b for b in range(150)],
                "p99": [1.0 + b * k for b in range(150)],
            },
            use={
                "start": START,
                "width": 60 * SECOND,
                "utilisation": [((b * k) % 97) / 97 for b in range(150)],
            },
            outcomes={"routed": 150, "lost": 20, "no-destination": 30, "rolled-back": 9},
            waiting=17,
            differs=[f"{EVIL[n % 8]}: {EVIL[k % 8]}" for n in range(k % 90)],
            changes=changes(*((60 * n, f"{EVIL[n % 8]} weight → {k % 3}") for n in range(50))),
        )
        for k, name in enumerate(called)
    ]
    return replayed(*many, rejections={f"{each}: x": 3 for each in EVIL})
