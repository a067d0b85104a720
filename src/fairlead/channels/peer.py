"""The other end of a channel: where it is, how we log in there, and a link on which it agrees."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from fairlead.balance.policies.ibm_mq_objects import transmission_queue
from fairlead.config.sites import SiteChannel
from fairlead.serve import codec
from fairlead.serve.channel_ends import FACTS, MANAGER, NUMBER, TOKEN
from fairlead.serve.codec import DescribedValue, ULong
from fairlead.serve.initiator import Initiator, PeerAddress, PeerError
from fairlead.serve.message import APPLICATION_PROPERTIES, DATA
from fairlead.serve.node import channel_links
from fairlead.serve.wire.engine_links import Settings
from fairlead.serve.wire.events import Link
from fairlead.store.channels.rows import ChannelBatch

IDLE: Final = 30.0
"""Seconds without a frame after which the other end is gone."""
SOON: Final = 30 * 24 * 3600
"""Seconds: of a certificate that expires within them, somebody is told."""


class OpenChannel(NamedTuple):
    """A channel that both ends have agreed on."""

    initiator: Initiator
    link: Link
    longest: int
    """Bytes that the other end takes as one message; 0: any."""
    number: int
    """Of the last batch that the other end has."""
    token: str


def remote_of(channel: SiteChannel, folder: Path) -> PeerAddress:
    """Where the receiving end is. Raises PeerError, where a file of its cannot be read."""
    place = channel.place
    try:
        password = ""
        if channel.password_file is not None:
            password = (folder / channel.password_file).read_text("utf-8").strip("\r\n")
        secure = _context(channel, folder) if place.secure else None
    except (OSError, UnicodeDecodeError, ssl.SSLError) as error:
        raise PeerError(f"found {error}, allowed: files that can be read") from None
    return PeerAddress(
        place.host,
        place.port,
        secure,
        channel.user,
        password,
        certified=channel.certificate is not None,
    )


def _context(channel: SiteChannel, folder: Path) -> ssl.SSLContext:
    authority = None if channel.ca is None else str(folder / channel.ca)
    context = ssl.create_default_context(cafile=authority)
    if channel.certificate is not None:
        context.load_cert_chain(folder / channel.certificate)
    return context


async def connect(channel: SiteChannel, folder: Path, manager: str) -> Initiator:
    """Connect to the receiving end, and log in. Raises PeerError."""
    initiator = Initiator(remote_of(channel, folder), Settings(container=manager, idle=IDLE))
    await initiator.connect(properties={MANAGER: manager})
    return initiator


async def agree(
    initiator: Initiator, channel: SiteChannel, manager: str, facts: Mapping[str, str]
) -> OpenChannel:
    """Attach the link, and hear which batch the other end has last. Raises PeerError."""
    answer = await initiator.sender(
        channel.name,
        transmission_queue(channel.name),
        {MANAGER: manager, FACTS: msgspec.json.encode(facts).decode()},
    )
    properties = answer.properties
    there, number = properties.get(MANAGER), properties.get(NUMBER)
    if there != channel.queue_manager or not str(number).isdecimal():
        what = repr(there) if there else "no queue manager of Fairlead"
        raise PeerError(f"found {what} there, allowed: {channel.queue_manager}")
    token = str(properties.get(TOKEN) or "")
    return OpenChannel(initiator, answer.link, answer.most, int(str(number)), token)


def sections_of(batch: ChannelBatch) -> bytes:
    """A batch as a message of AMQP."""
    properties = {channel_links.NUMBER: batch.number, channel_links.TOKEN: batch.token}
    return codec.encode(DescribedValue(ULong(APPLICATION_PROPERTIES), properties)) + codec.encode(
        DescribedValue(ULong(DATA), batch.content)
    )


def expiry_of(initiator: Initiator) -> float | None:
    """In how many seconds the other end's certificate expires, if that is soon; None: it is not."""
    not_after = initiator.certificate.get("notAfter")
    if not isinstance(not_after, str):
        return None
    left = ssl.cert_time_to_seconds(not_after) - time.time()
    return left if left < SOON else None
