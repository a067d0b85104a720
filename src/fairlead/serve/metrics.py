"""What a server has done, and how it stands, for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fairlead.prometheus import Exposition
from fairlead.serve.wire import events as r

if TYPE_CHECKING:
    from fairlead.serve.loop import Server

OUTCOMES: Final = {
    0: "none",
    r.ACCEPTED: "accepted",
    r.REJECTED: "rejected",
    r.RELEASED: "released",
    r.MODIFIED: "modified",
    r.DECLARED: "declared",
}


def page(server: Server) -> str:
    """The text that Prometheus reads. Another thread may ask while the server goes on."""
    exposition = Exposition()
    counts, sessions = server.access.counts, list(server.sessions)
    for state, value in (
        ("unknown", counts.unknown_count),
        ("known", sum(list(counts.known.values()))),
    ):
        exposition.add(
            *("fairlead_serve_connections", "gauge", {"state": state}, value),
            meaning="Connections, by whether the peer has said who it is.",
        )
    exposition.add(
        *("fairlead_serve_paused", "gauge", {}, len(server.paused)),
        meaning="Connections of which nothing is read, since they do not read or send too fast.",
    )
    waiting = sum(wire.pending for session in sessions if (wire := session.wire) is not None)
    exposition.add(
        *("fairlead_serve_pending_bytes", "gauge", {}, waiting),
        meaning="Bytes of messages that wait for the database.",
    )
    exposition.add(
        *("fairlead_serve_guaranteed_open", "gauge", {}, server.node.state.awaited),
        meaning="Guaranteed messages whose publishers wait for receivers to acknowledge them.",
    )
    for name, value in list(counts.refused.items()):
        exposition.add(
            *("fairlead_serve_refused_total", "counter", {"condition": name}, value),
            meaning="Connections that were refused.",
        )
    _messages(exposition, server.traffic)
    return str(exposition)


def _messages(exposition: Exposition, traffic: r.Traffic) -> None:
    exposition.add(
        *("fairlead_serve_received_total", "counter", {}, traffic.received),
        meaning="Messages that have come.",
    )
    exposition.add(
        *("fairlead_serve_sent_total", "counter", {}, traffic.sent),
        meaning="Messages that were given to receivers.",
    )
    for name, values, meaning in (
        ("fairlead_serve_answered_total", traffic.answered, "What senders were answered."),
        ("fairlead_serve_settled_total", traffic.settled, "What receivers have said."),
    ):
        for outcome, value in list(values.items()):
            label = {"outcome": OUTCOMES.get(outcome, "transactional")}
            exposition.add(name, "counter", label, value, meaning=meaning)
