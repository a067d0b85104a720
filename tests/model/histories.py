"""A whole history decided at once: messages, changes, and completions after their service times."""

from typing import Any

from tests.oracle import (
    Decision,
    Row,
    changes_in_order,
    duration,
    messages_in_order,
    microseconds,
)

from .deciding import KNOWN, Deciding, Listed


def decide(
    cluster: Row, messages: list[Row], changes: list[Row]
) -> tuple[list[Decision], Deciding]:
    """Each message's decisions, in order of (time, id); and the model at the end.

    At one instant completions come first, then changes, then messages. Only of a cluster that
    lists destinations is anything completed, after `service_time` / `speed`.
    """
    name = cluster.get("name", "cluster")
    model = Deciding([{**cluster, "name": name}])
    working: list[tuple[int, int]] = []
    """(When, which decision)."""
    waiting = changes_in_order(changes)
    found: list[Decision] = []

    def go_on(time: int) -> None:
        """All that happens up to and at this time, but for messages."""
        while True:
            due = [model.next(), *(at for at, _ in working)]
            due += [microseconds(change["time"]) for change in waiting]
            now = min((at for at in due if at is not None), default=time + 1)
            if now > time:
                return
            for entry in sorted(each for each in working if each[0] == now):
                working.remove(entry)
                for destination in model.decisions[entry[1]]["open"][:]:
                    model.completed(entry[1], destination)
            step = [change for change in waiting if microseconds(change["time"]) == now]
            del waiting[: len(step)]
            assert model.apply([{**change, "time": now} for change in step]) is None
            model.at(now)

    for message in messages_in_order(messages):
        now = microseconds(message["time"])
        go_on(now)
        own = {"": name, None: name}.get(message.get("cluster"), message.get("cluster"))
        read = {key: message[key] for key in message.keys() & (KNOWN | model.reads)}
        answer: Any = model.choose({**read, "cluster": own})
        number = len(model.decisions) - 1
        cluster_model = model.clusters.get(own)
        if answer["copies"] and isinstance(cluster_model, Listed):
            work(working, cluster_model, number, answer, message, now)
        for destination, _ in answer["copies"] or [(None, None)]:
            found.append(
                Decision(message["id"], destination, answer["outcome"], answer["sequence"])
            )
    return found, model


def work(
    working: list[tuple[int, int]],
    cluster: Listed,
    number: int,
    answer: Row,
    message: Row,
    now: int,
) -> None:
    """A message for one destination will be completed, if it says how long that takes."""
    if len(answer["copies"]) == 1 and message.get("service_time") not in (None, ""):
        (row,) = (row for row in cluster.rows if row["name"] == answer["chosen"])
        working.append((now + duration(message["service_time"], row["speed"]), number))
