"""PULL: what peers push here."""

from __future__ import annotations

from fairlead.sockets.pipe import Pipe
from fairlead.sockets.receiver import ReceivingSocket
from fairlead.sockets.wire import Bytes, Protocol


class Pull(ReceivingSocket[bytes]):
    """Receives what its peers push, in turn among those of the best priority that have something.

    Of each peer about `buffer` messages are held here; then it has to wait.
    """

    protocol = Protocol.PULL

    @staticmethod
    def _size(item: bytes) -> int:
        return len(item)

    def _item(self, pipe: Pipe, message: Bytes) -> bytes | None:
        return bytes(message)
