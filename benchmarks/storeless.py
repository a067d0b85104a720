"""`fairlead serve` without its store: it accepts and forgets, and gives out the same message again.

`python -m benchmarks.storeless serve …`: what AMQP, the client and the loop alone cost.
"""

from itertools import count
from typing import Any
from unittest.mock import patch

from fairlead.cli import main
from fairlead.serve import loop, message
from fairlead.serve.executor import Executor
from fairlead.serve.node.calls import Call, Take, Write, Written
from fairlead.store.queues.received import Received
from fairlead.store.queues.taken_group import TakenGroup

SECTIONS = b"\x00\x53\x70\xc0\x02\x01\x41\x00\x53\x75\xb0\x00\x00\x01\x00" + b"x" * 256
"""A header that says durable, and 256 bytes."""


class Storeless(Executor):
    """Does what is asked without asking the store."""

    _numbers = count(1)

    def execute(self, call: Call) -> Any:  # noqa: ANN401 - as the call says
        """All that is to be stored is stored; all that is wanted is there."""
        if isinstance(call, Write):
            for unit in call.units:
                unit.answers = [None] * len(unit.sends)
            return Written([None] * len(call.units), [self._given(each) for each in call.takes])
        if isinstance(call, Take):
            return self._given(call)
        return super().execute(call)

    def _given(self, call: Take) -> list[TakenGroup]:
        body = message.incoming(SECTIONS).body
        found = []
        for _ in range(call.most):
            number = next(self._numbers)
            sent = Received("m", body, None, "", "", 1, 0.0, number, None, SECTIONS)
            found.append(TakenGroup(number, "", "", 0, 1, number, 0, 0, (0, number), [sent]))
        return found


if __name__ == "__main__":
    with patch.object(loop, "Executor", Storeless):
        main()
