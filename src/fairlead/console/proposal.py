"""What an operator would change in a cluster: of a form, in words, and done as one step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from fairlead.balance.change import Change
from fairlead.console.preview import Proposal
from fairlead.console.refusals import PageRefusal, stale
from fairlead.console.shares import by_target
from fairlead.console.timeline import sentence
from fairlead.store.clusters.shares import PoolShares
from fairlead.store.store import Store

SAID: Final = 5
"""So many of the changes that somebody else has made are named."""
LOOK: Final = 20_000
AGAIN: Final = "; it gets messages again"
STAYS: Final = "; what was published to it stays in its queue, and is still taken"
MEANINGS: Final = {
    ("draining", True): f"; no new group starts there{STAYS}",
    ("draining", False): AGAIN,
    ("enabled", False): f"; it gets nothing new{STAYS}",
    ("enabled", True): AGAIN,
}
"""What becomes of a destination by a change."""


def proposal_of(text: str) -> Proposal:
    """What `as_text` gave. Raises PageRefusal for anything else."""
    try:
        return msgspec.json.decode(text, type=Proposal)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise PageRefusal(400, "The form does not say what is to be changed") from None


def as_text(proposal: Proposal) -> str:
    """For a field of a form."""
    return msgspec.json.encode(proposal).decode()


def proposed(
    pool: PoolShares,
    weights: Mapping[str, str],
    enabled: Sequence[str],
    draining: Sequence[str],
    removed: Sequence[str],
    added: Mapping[str, str],
) -> Proposal:
    """What a form would change of a cluster as it is now. Raises PageRefusal where that is nothing.

    `weights`: by destination, as it was typed; those that are not in it were not shown. `added`: of
    a new destination, what was typed.
    """
    changes: list[tuple[str, str, Any]] = []
    for name, machine in by_target(pool).items():
        now = machine.attributes
        if name not in weights or name in removed:
            continue
        typed = weights[name].strip()
        if "weight" in now and typed != str(now["weight"]):
            changes.append((name, "weight", _whole(f"weight of {name}", typed)))
        for key, names in (("enabled", enabled), ("draining", draining)):
            if key in now and now[key] is not (name in names):
                changes.append((name, key, name in names))
    tables: list[dict[str, Any]] = []
    if added.get("name"):
        table: dict[str, Any] = {key: value for key, value in added.items() if value}
        if "weight" in table:
            table["weight"] = _whole("weight", table["weight"].strip())
        tables.append(table)
    elif any(added.values()):
        raise PageRefusal(400, "The destination that you would add has no name")
    proposal = Proposal(changes, tables, list(removed))
    if proposal == Proposal():
        raise PageRefusal(400, "That changes nothing: the cluster is so already")
    return proposal


def _whole(key: str, typed: str) -> int:
    if not typed.isascii() or not typed.isdecimal() or len(typed) > 19:
        raise PageRefusal(400, f"{key}: found {typed[:50]!r}, allowed: a whole number from 0 on")
    return int(typed)


def in_words(pool: PoolShares, proposal: Proposal) -> list[str]:
    """What would be changed, a line each."""
    now = {target: machine.attributes for target, machine in by_target(pool).items()}
    lines = [
        f"{attribute} of {target}: {_plain(now.get(target, {}).get(attribute))} becomes "
        f"{_plain(value)}{MEANINGS.get((attribute, value), '')}"
        for target, attribute, value in proposal.changes
    ]
    for table in proposal.added:
        settings = ", ".join(f"{key} {_plain(table[key])}" for key in table if key != "name")
        lines.append(f"{table.get('name')} is added{f' with {settings}' if settings else ''}")
    lines += [
        f"{name} is removed for good; what was published to it stays in its queue"
        for name in proposal.removed
    ]
    return lines


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def apply(store: Store, cluster: str, version: int, proposal: Proposal) -> None:
    """Do all of it, in one transaction, to the cluster of this version.

    Raises PageRefusal where somebody has changed it since, and what the verbs raise.
    """
    with store.transaction() as tx:
        now = tx.cluster_version(cluster)
        if now == version:
            tx.apply(cluster, [Change(*change) for change in proposal.changes])
            for table in proposal.added:
                tx.add_destination(cluster, table)
            for name in proposal.removed:
                tx.remove_destination(cluster, name)
    if now != version:
        raise stale(what_changed(store, cluster, version))


def what_changed(store: Store, cluster: str, version: int) -> str:
    """What became of a cluster after a version, and by whom, in a sentence."""
    page = store.journal_back(None, SAID + 1, LOOK, cluster=cluster, kind=["changed", "loaded"])
    later = [event for event in page.events if (event.version or 0) > version][::-1]
    sentences = [f"{sentence(event)} (by {event.actor})" for event in later[-SAID:]]
    more = "before that more; " if len(later) > SAID else ""
    return f"Cluster {cluster} has changed since you looked: {more}{'; '.join(sentences)}"
