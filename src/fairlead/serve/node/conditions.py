"""The conditions with which messages, links and connections are refused."""

from __future__ import annotations

from typing import Final

from fairlead.errors import (
    ClusterHeldError,
    DiskFullError,
    MessageError,
    NoDestinationError,
    QueueFullError,
    StaleWorkError,
    UserError,
)
from fairlead.serve.node.calls import GoneError
from fairlead.serve.wire.events import Condition

DECODE: Final = "amqp:decode-error"
FORCED: Final = "amqp:connection:forced"
INTERNAL: Final = "amqp:internal-error"
INVALID: Final = "amqp:invalid-field"
LIMIT: Final = "amqp:resource-limit-exceeded"
DELETED: Final = "amqp:resource-deleted"
NOT_ALLOWED: Final = "amqp:not-allowed"
NOT_FOUND: Final = "amqp:not-found"
NOT_IMPLEMENTED: Final = "amqp:not-implemented"
STOLEN: Final = "amqp:link:stolen"
TOO_LARGE: Final = "amqp:link:message-size-exceeded"
NO_DESTINATION: Final = "fairlead:no-destination"
"""Our own: nobody of a cluster can get a message that was to be published."""
RECEIVER_FAILED: Final = "fairlead:receiver-failed"
LATE: Final = "fairlead:delivery-timeout"
"""Our own: a guaranteed message was published, and not acknowledged as it was to be."""
STALE: Final = "fairlead:stale-work"
"""Our own: the message is not this receiver's any more, as its lease was over."""

_BY_ERROR: Final[tuple[tuple[type[Exception], str], ...]] = (
    (QueueFullError, LIMIT),
    (DiskFullError, LIMIT),
    (ClusterHeldError, LIMIT),
    (NoDestinationError, NO_DESTINATION),
    (GoneError, NOT_FOUND),
    (StaleWorkError, STALE),
    (MessageError, INVALID),
)


def condition_of(error: Exception) -> Condition:
    """How an error of the store is said."""
    for kind, name in _BY_ERROR:
        if isinstance(error, kind):
            return Condition(name, str(error))
    what = str(error) if isinstance(error, UserError) else "the server could not do it"
    return Condition(INTERNAL, what)
