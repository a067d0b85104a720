"""The side of a connection that opens it: the opening, and links on which it sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.serve.codec import Symbol
from fairlead.serve.wire.connection import Connection
from fairlead.serve.wire.events import Link, Terminus
from fairlead.serve.wire.proton import LIB, address, put


def begin(connection: Connection, hostname: str, properties: Mapping[str, object]) -> Any:  # noqa: ANN401
    """Open a connection that this side initiates; the session on which its links are.

    `hostname`: the virtual host that is wanted. `properties`: of the connection.
    """
    engine = connection.engine
    if hostname:
        LIB.pn_connection_set_hostname(engine, hostname.encode())
    if properties:
        put(LIB.pn_connection_properties(engine), _symbols(properties))
    LIB.pn_connection_open(engine)
    session = LIB.pn_session(engine)
    LIB.pn_session_open(session)
    return session


def sender(
    connection: Connection,
    session: Any,  # noqa: ANN401 - as `begin` gives it
    name: str,
    target: str,
    properties: Mapping[str, object],
) -> Link:
    """Attach a link on which this side sends; `Answered` says what the peer says to it."""
    pointer = LIB.pn_sender(session, name.encode())
    LIB.pn_terminus_set_address(LIB.pn_link_target(pointer), target.encode())
    LIB.pn_terminus_set_address(LIB.pn_link_source(pointer), name.encode())
    LIB.pn_link_set_snd_settle_mode(pointer, LIB.PN_SND_UNSETTLED)
    LIB.pn_link_set_rcv_settle_mode(pointer, LIB.PN_RCV_FIRST)
    if properties:
        put(LIB.pn_link_properties(pointer), _symbols(properties))
    link = Link(
        number=connection.number(),
        name=name,
        sends=True,
        source=Terminus(name),
        target=Terminus(target),
        properties={},
        settled=False,
        session=address(session),
    )
    LIB.pn_link_open(pointer)
    connection.adopt(link, pointer)
    return link


def _symbols(properties: Mapping[str, object]) -> dict[Symbol, object]:
    return {Symbol(name): value for name, value in properties.items()}
