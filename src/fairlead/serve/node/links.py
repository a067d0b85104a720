"""Links: what each is for, whether it may be, and what goes with it when it ends."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from fairlead.balance.policies.ibm_mq_objects import TRANSMISSION
from fairlead.errors import MessageError
from fairlead.serve.codec import Symbol
from fairlead.serve.node.browsing import ROOM, BrowserLink
from fairlead.serve.node.calls import (
    ANY,
    CLUSTER,
    PUT,
    QUEUE,
    SUBJECT,
    TEMPORARY,
    AgreeChannel,
    Browse,
    Call,
    CloseOpener,
    Find,
    Make,
    Project,
    Resolve,
    Subscribe,
)
from fairlead.serve.node.channel_links import ChannelLink
from fairlead.serve.node.client_log import client_ended, link_refused, lost
from fairlead.serve.node.conditions import (
    DELETED,
    FORCED,
    LIMIT,
    NOT_ALLOWED,
    NOT_FOUND,
    STOLEN,
    condition_of,
)
from fairlead.serve.node.connections import Attachment, ClientConnection
from fairlead.serve.node.link_requests import (
    TOPIC,
    done_of,
    refusal_of_asked,
    refusal_of_form,
    wanted_of,
)
from fairlead.serve.node.port import Wire
from fairlead.serve.node.queue_consumers import ReceiverLink
from fairlead.serve.node.senders import Said, SenderLink
from fairlead.serve.node.state import NodeState
from fairlead.serve.node.subjects import (
    PREFIX,
    WARM,
    SubjectRequest,
    name_by,
    refusal_of,
    said_in,
    subject_in,
    wanted_by,
)
from fairlead.serve.node.transactions import Coordinator
from fairlead.serve.rights import Rights
from fairlead.serve.wire.events import (
    Condition,
    Link,
    near,
)
from fairlead.store.arguments import OWN, queue_name
from fairlead.store.clusters.subscription import Subscription

LEASE: Final = 60.0
"""Seconds."""
LINKS: Final = 1000
QUESTION: Final = 4096
"""Bytes that a link counts for while the store is asked what it is for."""


class Links:
    """The links of a server's connections."""

    def __init__(self, state: NodeState, server: str, most: int) -> None:
        """`server`: its name. `most`: so many links may be on one connection."""
        self._state = state
        self._server = server
        self._most_links = most
        self.connections: dict[int, ClientConnection] = {}
        """All that are open, by their `id`."""
        self.names: dict[tuple[str, ...], tuple[ClientConnection, Link]] = {}
        """Links by what `_key_of` says: there is one of each."""
        self._openers: dict[tuple[int, int], CloseOpener] = {}
        """By connection and link: what is to be done when it ends."""

    def govern(self, rights: Rights, links: int, raises: Callable[[str], bool]) -> None:
        """From now on others may do what: connections and links that may not be any more end."""
        self._state.rights.become(rights)
        self._most_links, self._state.raises = links, raises
        for peer in [*self.connections.values()]:
            refused = rights.refusal_of_client(peer.user, peer.container, peer.place)
            if refused is not None:
                client_ended(peer.who, refused)
                self.gone(peer, orderly=True)
                peer.wire.close(refused)
                continue
            for peer_link in [*peer.links.values()]:
                why = self._state.rights.refusal_of_link(peer.user, peer.host, peer_link.link)
                if why is not None:
                    self.end_link(peer, peer_link.link, why)

    def attached(self, peer: ClientConnection, link: Link) -> None:
        if TOPIC in near(link).capabilities:
            _become_subject(link)
        if link.sends and link.source.absent:
            self._finds(peer, link)
            return
        why = self._refusal(link) or self._denial(peer, link)
        if why is not None:
            self._refuse(peer, link, why)
            return
        self._steal(peer, link)
        if link.target.coordinates:
            peer.wire.attach(link)
            peer.links[link.number] = Coordinator(peer.wire, link, self._state.submit)
            return
        if near(link).dynamic:
            self._asks(peer, link)
            self._state.calls.append(Make((peer, link)))
            return
        address = near(link).address
        subject = subject_in(address)
        if subject is not None:
            self._attached_to(peer, link, subject)
            return
        if address is None:
            peer.wire.attach(link)
            self._sends(peer, link, None, ANY)
            return
        self._asks(peer, link)
        if address.startswith(TRANSMISSION):
            channel = address.removeprefix(TRANSMISSION)
            self._state.calls.append(AgreeChannel(channel, link.properties, (peer, link)))
            return
        if link.sends and link.source.copies:
            peer.browses.append(Browse(address, (peer, link), wanted=wanted_of(link)))
            self.browse_next(peer)
        else:
            self._state.calls.append(Resolve(address, (peer, link)))

    def _refusal_of_any(self) -> Condition | None:
        return Condition(FORCED, "the server is stopping") if self._state.stopped else None

    def _refusal(self, link: Link) -> Condition | None:
        if (why := self._refusal_of_any()) is not None:
            return why
        if (why := refusal_of_asked(link)) is not None:
            return why
        terminus = near(link)
        if terminus.dynamic:
            return None
        if terminus.address is None:
            return Condition(NOT_FOUND, "found no address") if link.sends else None
        if terminus.address.startswith(OWN):
            words = f"{terminus.address}: found a queue of the server's own, allowed: any other"
            return Condition(NOT_ALLOWED, words)
        if link.sends and terminus.address.startswith(TRANSMISSION):
            words = (
                f"{terminus.address}: found messages for another queue manager, allowed: a queue"
            )
            return Condition(NOT_ALLOWED, words)
        if (form := refusal_of_form(terminus.address)) is not None:
            return form
        try:
            queue_name(terminus.address)
        except MessageError as error:
            return Condition(NOT_FOUND, str(error))
        return None

    def _denial(self, peer: ClientConnection, link: Link) -> Condition | None:
        if len(peer.links) + len(peer.waiting) >= self._most_links:
            most = self._most_links
            return Condition(
                LIMIT, f"links: found more than {most} on a connection, allowed: {most}"
            )
        return self._state.rights.refusal_of_link(peer.user, peer.host, link)

    def _denial_to(self, peer: ClientConnection) -> Callable[[str], Condition | None]:
        """Asks why a peer's message may not go to an address that it names itself."""
        return partial(self._state.rights.refusal, peer.user, peer.host, "send")

    def _steal(self, peer: ClientConnection, link: Link) -> None:
        key = _key_of(peer, link)
        before = self.names.get(key)
        if before is not None:
            self.end_link(*before, Condition(STOLEN, "another connection has attached the link"))
        self.names[key] = peer, link

    def found_out(
        self,
        call: AgreeChannel | Browse | Resolve | Make | Project | Subscribe | Find,
        result: Any,  # noqa: ANN401 - as the call says
        error: Exception | None,
    ) -> None:
        """What a link is for."""
        if isinstance(call, Browse):
            self._browses(call, result, error)
        elif isinstance(call, AgreeChannel):
            self._agreed(call, result, error)
        elif isinstance(call, Resolve):
            self._resolved(call, result, error)
        elif isinstance(call, Make):
            self._made(call, result, error)
        elif isinstance(call, Project):
            self._publishes(call, result, error)
        elif isinstance(call, Find):
            self._found(call, result, error)
        else:
            self._subscribed(call, result, error)

    def is_wanted(self, call: Call) -> bool:
        """Whether anybody still waits for what a call tells: a link may have ended meanwhile."""
        if not isinstance(call, AgreeChannel | Resolve | Make | Project | Subscribe | Find):
            return True
        peer, link, *_ = call.owner
        return link.number in peer.waiting

    def _asks(self, peer: ClientConnection, link: Link) -> None:
        """The store is asked what a link is for; `_answered` follows."""
        peer.waiting.add(link.number)
        peer.wire.pending += QUESTION

    def _agreed(self, call: AgreeChannel, agreed: Any, error: Exception | None) -> None:  # noqa: ANN401
        """Another queue manager can send on a channel, from the batch on that it is told of."""
        peer, link = call.owner
        if not self._answered(peer, link, error):
            return
        symbols = {Symbol(name): value for name, value in agreed.properties.items()}
        peer.wire.attach(link, properties=symbols)
        channel = peer.links[link.number] = ChannelLink(
            peer.wire, link, agreed.end, self._state.ask
        )
        channel.begin()

    def _resolved(self, call: Resolve, kind: str, error: Exception | None) -> None:
        peer, link = call.owner
        wire: Wire = peer.wire
        if not self._answered(peer, link, error):
            return
        if link.sends:
            if kind == CLUSTER:
                why = "found a cluster, allowed: a queue; messages are received from the queues"
                self._refuse(peer, link, Condition(NOT_ALLOWED, why))
                return
            if call.name.startswith(TEMPORARY) and not self._state.temporary.is_of(peer, call.name):
                why = f"{call.name}: found another connection's, allowed: one's own"
                self._refuse(peer, link, Condition(NOT_ALLOWED, why))
                return
            wire.attach(link)
            self._receives(peer, ReceiverLink(wire, link, call.name, who=peer.who))
            return
        wire.attach(link)
        opener = uuid.uuid4().hex if kind == PUT else ""
        self._sends(
            peer, link, call.name, kind, (lambda _: {"producer": opener}) if opener else None
        )
        if opener:
            self._openers[id(peer), link.number] = CloseOpener(call.name, opener)

    def _browses(self, call: Browse, value: Any, error: Exception | None) -> None:  # noqa: ANN401
        peer, link = call.owner
        peer.looking = False
        if not self._answered(peer, link, error):
            self.browse_next(peer)
            return
        peer.wire.attach(link, filters=done_of(link))
        browser = peer.links[link.number] = BrowserLink(peer.wire, link, value)
        if (flowed := peer.flows.pop(link.number, None)) is not None:
            browser.flow(flowed.credit, drain=flowed.drain, now=self._state.now)
        self.browse_next(peer)

    def browse_next(self, peer: ClientConnection) -> None:
        """Look for what the next link of a peer is to be shown, once the peer has taken enough."""
        most = min(ROOM, peer.wire.most_held)
        while peer.browses and not peer.looking and peer.wire.held + most <= peer.wire.most_held:
            call = peer.browses.popleft()
            if call.owner[1].number in peer.waiting:
                call.room = most
                peer.looking = True
                self._state.calls.append(call)

    def _sends(
        self,
        peer: ClientConnection,
        link: Link,
        to: str | None,
        kind: str,
        said: Said | None = None,
    ) -> None:
        deny = self._denial_to(peer)
        sender = SenderLink(
            *(peer.wire, link, to, kind, self._state.submit),
            said=said,
            deny=deny,
            raises=self._state.raises,
            awaiting=None if TOPIC in link.target.capabilities else self._state.awaiting,
        )
        peer.links[link.number] = sender
        sender.grant()

    def _receives(self, peer: ClientConnection, receiver: ReceiverLink) -> None:
        number = receiver.link.number
        peer.links[number] = receiver
        consumers = self._state.consumers_of(receiver.queue)
        consumers.join(receiver)
        if (flowed := peer.flows.pop(number, None)) is not None:
            consumers.flow(receiver, flowed.credit, drain=flowed.drain)

    def _made(self, call: Make, address: str, error: Exception | None) -> None:
        """A queue that lives as long as a link."""
        peer, link = call.owner
        if error is None:
            self._state.temporary.made(address, peer, link)
        if not self._answered(peer, link, error):
            if error is None:
                self._state.temporary.remove(address)
            return
        peer.wire.attach(link, address=address)
        if link.sends:
            self._receives(peer, ReceiverLink(peer.wire, link, address, who=peer.who))
        else:
            self._sends(peer, link, address, QUEUE)

    def _attached_to(self, peer: ClientConnection, link: Link, subject: str) -> None:
        """A link to a subject: its peer publishes to it, or subscribes."""
        wanted = refusal_of(subject) or wanted_by(link, subject, peer.container, peer.host)
        if isinstance(wanted, Condition):
            self._refuse(peer, link, wanted)
            return
        self._asks(peer, link)
        if link.sends:
            self._state.calls.append(Subscribe(wanted, (peer, link)))
        else:
            self._state.calls.append(Project(peer.host, (peer, link, subject)))

    def _publishes(self, call: Project, cluster: str, error: Exception | None) -> None:
        peer, link, subject = call.owner
        if not self._answered(peer, link, error):
            return
        peer.wire.attach(link)
        is_topic = TOPIC in link.target.capabilities
        extractor = partial(said_in, subject=subject, server=self._server, is_topic=is_topic)
        self._sends(peer, link, cluster, SUBJECT, extractor)

    def _finds(self, peer: ClientConnection, link: Link) -> None:
        """A link without a source: a subscription's is looked for, as JMS does to end it."""
        why = self._refusal_of_any() or self._denial(peer, link)
        if why is not None:
            self._refuse(peer, link, why)
            return
        self._steal(peer, link)
        self._asks(peer, link)
        self._state.calls.append(Find(peer.host, name_by(link, peer.container), (peer, link)))

    def _found(self, call: Find, subject: str | None, error: Exception | None) -> None:
        peer, link = call.owner
        if not self._answered(peer, link, error):
            return
        if subject is None:
            missing = f"found no source, and no subscription that is called {link.name[:100]!r}"
            self._refuse(peer, link, Condition(NOT_FOUND, missing))
            return
        link.source = replace(
            link.source, address=PREFIX + subject, durable=True, expires="never", absent=False
        )
        why = self._denial(peer, link)
        if why is not None:
            self._refuse(peer, link, why)
            return
        self._asks(peer, link)
        wanted = SubjectRequest(peer.host, subject, call.name, True, True, WARM)
        self._state.calls.append(Subscribe(wanted, (peer, link), is_found=True))

    def _subscribed(
        self, call: Subscribe, subscription: Subscription, error: Exception | None
    ) -> None:
        peer, link = call.owner
        if error is None:
            self._state.subscribers.joined(subscription, link)
        if not self._answered(peer, link, error):
            if error is None:
                self._state.subscribers.left(subscription, link, closed=False, orderly=True)
            return
        peer.wire.attach(link, source=subscription.subject if call.is_found else "")
        self._receives(
            peer, ReceiverLink(peer.wire, link, subscription.queue, subscription, peer.who)
        )

    def _answered(self, peer: ClientConnection, link: Link, error: Exception | None) -> bool:
        """Whether a link that was waiting can be attached; refuses it if not."""
        peer.wire.pending -= QUESTION
        if link.number not in peer.waiting:
            return False  # it has ended meanwhile
        peer.waiting.discard(link.number)
        if error is not None:
            peer.flows.pop(link.number, None)
            self._refuse(peer, link, condition_of(error))
        return error is None

    def detached(self, peer: ClientConnection, link: Link, *, closed: bool, orderly: bool) -> None:
        peer.waiting.discard(link.number)
        peer.flows.pop(link.number, None)
        peer_link = peer.links.pop(link.number, None)
        key = _key_of(peer, link)
        if self.names.get(key) == (peer, link):
            del self.names[key]
        if (closing := self._openers.pop((id(peer), link.number), None)) is not None:
            self._state.calls.append(closing)
        self._end_attachment(peer_link)
        if isinstance(peer_link, ReceiverLink):
            if not orderly and peer_link.under_way:
                before = peer.lost.get(peer_link.queue, 0)
                peer.lost[peer_link.queue] = before + len(peer_link.under_way)
            self._state.consumers_of(peer_link.queue).leave(peer_link, orderly=orderly)
            self._state.forget(peer_link.queue)
            if peer_link.subscription is not None:
                self._state.subscribers.left(
                    peer_link.subscription, link, closed=closed, orderly=orderly
                )
        self._remove_temporary(peer, link)

    def _end_attachment(self, peer_link: Attachment | None) -> None:
        if isinstance(peer_link, Coordinator | BrowserLink):
            peer_link.end()
        if isinstance(peer_link, SenderLink):
            self._state.awaiting.forget(peer_link)

    def _remove_temporary(self, peer: ClientConnection, link: Link) -> None:
        """The queues that live as long as a link."""
        for address in self._state.temporary.made_for(link):
            why = Condition(DELETED, f"{address}: the link has ended for which it was made")
            for other_link in [*peer.links.values()]:
                if isinstance(other_link, ReceiverLink) and other_link.queue == address:
                    self.end_link(peer, other_link.link, why)
            self._state.temporary.remove(address)

    def resumed(self, peer: ClientConnection) -> None:
        """A peer that was full can be sent messages again."""
        for peer_link in [*peer.links.values()]:
            if isinstance(peer_link, ReceiverLink):
                consumers = self._state.consumers_of(peer_link.queue)
                consumers.serve(peer_link)
                consumers.look()
            elif isinstance(peer_link, BrowserLink):
                peer_link.serve(self._state.now)
        self.browse_next(peer)

    def _refuse(self, peer: ClientConnection, link: Link, why: Condition) -> None:
        peer.wire.refuse(link, why)
        self._tell_refused(peer, link, why)

    def _tell_refused(self, peer: ClientConnection, link: Link, why: Condition) -> None:
        link_refused(peer.who, link, why, peer.refused)
        peer.refused += 1

    def end_link(self, peer: ClientConnection, link: Link, why: Condition) -> None:
        self._tell_refused(peer, link, why)
        if link.open:
            peer.wire.detach(link, why)
        else:
            peer.wire.refuse(link, why)
        self.detached(peer, link, closed=True, orderly=True)

    def end_too_long(self, peer: ClientConnection) -> None:
        """End the links whose client keeps a message for longer than its queue allows."""
        for peer_link in [*peer.links.values()]:
            if isinstance(peer_link, ReceiverLink) and peer_link.too_long:
                self.end_link(peer, peer_link.link, Condition(LIMIT, peer_link.too_long))

    def gone(self, peer: ClientConnection, *, orderly: bool) -> None:
        peer.browses.clear()
        for peer_link in [*peer.links.values()]:
            self.detached(peer, peer_link.link, closed=False, orderly=orderly)
        self.connections.pop(id(peer), None)
        if peer.lost:
            lost(peer.who, peer.lost)
            peer.lost = {}


def _become_subject(link: Link) -> None:
    """What is called a topic is a subject: from here on by its address, too."""
    terminus = near(link)
    if terminus.address is None or terminus.dynamic or subject_in(terminus.address) is not None:
        return
    named = replace(terminus, address=PREFIX + terminus.address)
    if link.sends:
        link.source = named
    else:
        link.target = named


def _key_of(peer: ClientConnection, link: Link) -> tuple[str, ...]:
    """Whose link it is: a user's, at a virtual host, of a container, by its name and direction."""
    container = peer.container or f"-{id(peer)}"
    return peer.user, peer.host, container, link.name, "sends" if link.sends else ""
