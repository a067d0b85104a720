"""The receiving ends of channels, as a server of a queue manager has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from fairlead.config.sites import Sites, first_difference
from fairlead.errors import MessageError
from fairlead.store.channels.receiving import ChannelEnd
from fairlead.store.store import Store

MANAGER: Final = "queue-manager"
"""Property of a link: which queue manager is at this end of it."""
FACTS: Final = "cluster-file"
"""Property of a link: what the file says, which has to be alike at all sites; JSON."""
NUMBER: Final = "batch-number"
TOKEN: Final = "batch-token"  # noqa: S105 - no secret
RESUMES: Final = "resumes"


class ServedManager:
    """A queue manager that this server is."""

    def __init__(self, store: Store, sites: Sites, name: str) -> None:
        """`name`: of the queue manager, which the file has."""
        self._store = store
        self.sites = sites
        self.name = name
        self.facts = {key: str(value) for key, value in sites.facts().items()}

    @property
    def cluster(self) -> str:
        """In which it chooses."""
        return self.sites.cluster_name(self.name)

    def agree(self, channel: str, properties: Mapping[Any, Any]) -> AgreedChannel:
        """What came last on a channel on which somebody wants to send. Raises MessageError."""
        known = self.sites.channel(channel)
        if known is None or known.queue_manager != self.name:
            raise MessageError(
                f"channel: found {channel!r}, allowed: one that leads to {self.name}, which this is"
            )
        peer = properties.get(MANAGER)
        if not isinstance(peer, str) or peer not in self.sites.managers or peer == self.name:
            others = ", ".join(name for name in self.sites.managers if name != self.name)
            raise MessageError(f"{MANAGER}: found {peer!r}, allowed: {others}")
        self._check_file(peer, properties.get(FACTS))
        end = ChannelEnd(self.cluster, self.name, channel, peer)
        number, token = self._store.moving.last_batch(end)
        return AgreedChannel(end, number, token)

    def _check_file(self, peer: str, facts: object) -> None:
        try:
            theirs = msgspec.json.decode(
                facts if isinstance(facts, str) else "", type=dict[str, str]
            )
        except msgspec.DecodeError:
            raise MessageError(
                f"{FACTS}: found none, allowed: what the file of {peer} says; the other side is no "
                "queue manager of Fairlead"
            ) from None
        different = first_difference(self.facts, theirs)
        if different is not None:
            raise MessageError(
                f"cluster file: found that those of {peer} and {self.name} differ: {different}"
            )


class AgreedChannel(NamedTuple):
    """The end of a channel, and the last batch that came there."""

    end: ChannelEnd
    number: int
    token: str

    @property
    def properties(self) -> dict[str, object]:
        """What the other end is told."""
        return {MANAGER: self.end.manager, NUMBER: str(self.number), TOKEN: self.token}
