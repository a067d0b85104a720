"""The errors that Fairlead raises on purpose, with one base.

A message says what was found, what is allowed and what to do.
"""

from collections.abc import Sequence


class FairleadError(Exception):
    """Anything that Fairlead refuses or cannot do."""


class UserError(FairleadError):
    """The request cannot be carried out as it was given; the command line exits with status 2."""

    def __init__(self, line: str, in_shell: str = "") -> None:
        """`in_shell`: the line as the command line says it, where that has words of its own."""
        super().__init__(line)
        self.in_shell = in_shell or line


class ConfigError(UserError):
    """A cluster file says something that it may not say."""

    def __init__(self, line: str, place: Sequence[str | int] = ()) -> None:
        """`place`: where in the file, as keys and list indexes."""
        super().__init__(line)
        self.place = place


class RuleError(UserError):
    """An elimination or a choice rule of a user's own failed, or returned what it may not."""


class ChangeError(UserError):
    """A change of the cluster cannot be applied."""


class MessageError(UserError):
    """A message, a whole table of them, or work for an agenda cannot be taken as it was given."""


class OutputError(UserError):
    """The results cannot be written where they were asked for."""


class EnvironmentProblem(UserError):  # noqa: N818  (EnvironmentError is Python's own)
    """Something that the work needs (Java, an extra, a Spark server) is missing on this machine."""


class StoreError(UserError):
    """A store cannot be opened, or its database refused what was asked of it."""


class ClusterHeldError(StoreError):
    """A run of many messages keeps a cluster from others while it is published; try again later."""


class DeniedError(StoreError):
    """The user of a store has no right to what was asked; the line says which role has."""


class DiskFullError(StoreError):
    """The disk of a store is full. What was to be written is not there; what is there stays."""


class TransientStoreError(StoreError):
    """The database gave up a transaction for another one's sake (a deadlock); do it again.

    Nothing of it was done. The store's own verbs have tried several times before they raise it.
    """


class StaleWorkError(MessageError):
    """The work is not the reader's any more: its lease was over, or it was taken back.

    A transaction in which this is raised cannot be committed: somebody else may do the work.
    """


class StaleViewError(MessageError):
    """What a caller has seen, and says so, is not so any more; nothing was done."""


class ConversationError(MessageError):
    """A conversation has ended, or was broken off: nothing can be said in it any more."""


class PrunedError(MessageError):
    """Events after a cursor of the journal are kept no more: who goes on would miss them."""


class QueueFullError(MessageError):
    """A queue holds as many messages as it may (`max_waiting`); send again later."""


class Reject(Exception):  # noqa: N818  (nothing went wrong in the program that says so)
    """Raised by a worker's function: its message is a dead letter at once, and is not tried again.

    `raise Reject("no such item")`: the text is the reason.
    """


class SharedQueueError(MessageError):
    """`tx.take` found a queue that tenants share, or with limits, where all others would wait."""


class NoDestinationError(MessageError):
    """Nobody can get a message that was to be published, or acquired for; try again later."""

    outcome = "no-destination"
    """As that of a decision: what nobody got was perhaps lost, or refused."""


class DeliveredError(MessageError):
    """A run of many messages was brought to a store before; it is not brought twice."""


class PoolError(UserError):
    """A pool cannot do what was asked: it is closed, or keeps no journal."""


class PoolTimeoutError(PoolError, TimeoutError):
    """No reader was free within the time that was allowed."""


class SocketError(UserError):
    """A socket cannot do what was asked: an address that is none, one in use, a closed socket."""


class WireError(SocketError):
    """A peer sent bytes that are none of the protocol, or more than a socket takes."""


class SocketTimeoutError(SocketError, TimeoutError):
    """Nobody took a message, or sent one, within the time that was allowed."""
