"""Draws whole histories: a cluster, messages with service times, and changes that are allowed."""

from fractions import Fraction
from typing import Any

from tests.oracle import Row

from .deciding import Deciding
from .deciding_destinations import RefusedChangeError
from .deciding_worlds import POLICIES, World, a_cluster
from .draws import Draws

History = tuple[Row, list[Row], list[Row]]
MICROS = 1_000_000
SERVICE = [0, 0.5, 1, 0.000001, 2.5, 0.333333]
COLUMNS = {"group", "queue", "subject"}
"""What a policy can ask of a table; a column that nobody fills must be there, too."""
ONLY_SOME_REFUSE = ({"mode": "loud"}, {"pcf": "true", "queue": "Q"})
"""A table is of many clusters, and what one of them refuses is rejected for all."""


def a_history(draws: Draws, policies: list[str] = POLICIES) -> History:
    """Few instants, so that much meets in one."""
    cluster = a_cluster(draws, "c", policies)
    world, model = World([cluster]), Deciding([cluster])
    instants = [draws.pick([k, k, 2 * k + 1, k / 2]) for k in range(draws.whole(1, 8))]
    times = [Fraction(str(each)) for each in instants]
    messages = []
    for k in range(draws.pick([3, 12, 12, 30])):
        said = world.message(draws)
        if "colour" not in said and said not in ONLY_SOME_REFUSE:
            own: Row = {"id": f"{draws.whole(0, 9)}{k:02}", "time": moment(draws, times)}
            own |= {"service_time": draws.pick(SERVICE)} | dict.fromkeys(COLUMNS, "")
            messages.append({**own, **said, "id": own["id"]})
    changes = [
        {**change, "time": moment(draws, times)}
        for change in (world.change(draws) for _ in range(draws.pick([0, 2, 5, 9])))
        if means_something(model, change)
    ]
    return cluster, messages, changes


def moment(draws: Draws, times: list[Fraction]) -> Fraction:
    """One of the instants; or a microsecond beside it, or somewhere between."""
    beside = draws.pick([0, 0, 0, 0, 1, 500_000, draws.whole(0, 2_000_000)])
    return draws.pick(times) + Fraction(beside, MICROS)


def means_something(model: Deciding, change: Row) -> bool:
    try:
        return bool(model.meant({**change, "time": 0}))
    except RefusedChangeError:
        return False


def worked_on(draws: Draws, history: History) -> History:
    """The same with readers, an order of work, tenants, raises and failures, for a replay."""
    cluster, messages, changes = history
    own: dict[str, Any] = {**cluster}
    for kind in ("destination", "subscriber", "remote"):
        if kind in own:
            own[kind] = [{**row, "readers": draws.pick([1, 1, 2, 0])} for row in own[kind]]
    if draws.whole(0, 2):
        own["order"] = {"discipline": "priority"}
        if draws.whole(0, 2) == 0:
            own["order"]["ageing"] = draws.pick([0.5, 1, 0.000002])
    rows = []
    for row in messages:
        if row.get("cluster", "c") != "c":
            continue
        found = {**row, "group": row["group"] or draws.pick(["", "", "g", "h"])}
        if found.get("type") != "SetPriority":
            found |= {
                "tenant": "t" if found["group"] in ("h", True) else "",
                "cost": draws.whole(1, 3),
            }
            if draws.whole(0, 3) == 0:
                found["priority"] = draws.pick([0, 3, 255])
            if draws.whole(0, 6) == 0:
                found["rollbacks"] = draws.whole(1, 2)
        rows.append(found)
    return own, rows, changes
