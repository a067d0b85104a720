"""Messages in memory as the columns of numbers that a replay reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.message import SET_PRIORITY
from fairlead.compiled.classes import bindings, keys
from fairlead.compiled.intake.accepted import Accepted
from fairlead.compiled.intake.columns import coded, column, text
from fairlead.compiled.intake.numbers import integral
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.replay.batch import Batch, Traits
from fairlead.replay.layout import NONE


class MessageColumns(NamedTuple):
    """What a replay reads of messages, whatever the policy is."""

    times: Int64s
    services: Int64s
    group_names: int
    """How many names of groups there are."""
    groups: Int64s | None
    """Each message's number, NONE for a group of its own."""
    priorities: Int64s | None
    tenant_names: Sequence[str]
    tenants: Int64s
    costs: Int64s | None
    rollbacks: Int64s | None
    raises: bool
    """Whether any message is no work and only raises its group."""

    def batch(self, read: pa.Table, plan: ClassifiedPlan, codes: Int32s) -> Batch:
        """All of them under a policy. `read`: what decisions read; `codes`: of their classes."""
        nothing = np.zeros(0, np.int64)
        numbers = keys(read, plan, codes)
        return Batch(
            codes,
            self.times,
            self.services,
            np.arange(len(codes)),
            nothing,
            nothing if numbers is None else numbers,
            self.groups,
            self.priorities,
            self.tenants if len(self.tenant_names) > 1 else None,
            self.costs,
            self.rollbacks,
            bindings(read, plan, codes),
        )

    @property
    def traits(self) -> Traits:
        """What these messages have, if they are all."""
        return Traits(
            groups=self.groups is not None and bool((self.groups != NONE).any()),
            priorities=self.priorities is not None and bool((self.priorities != NONE).any()),
            tenants=len(self.tenant_names) > 1,
            rollbacks=self.rollbacks is not None and bool(self.rollbacks.any()),
            raises=self.raises,
        )


def message_columns(messages: Accepted, read: pa.Table) -> MessageColumns:
    """The columns of messages. `read`: what decisions read of them, as texts."""
    table = messages.table
    group_names, groups = _grouped(read)
    tenants, tenant_names = coded(read, "tenant")
    return MessageColumns(
        messages.times,
        messages.services,
        group_names,
        groups,
        _integers(table, "priority", NONE),
        tenant_names,
        tenants,
        _integers(table, "cost", 1),
        _integers(table, "rollbacks", 0),
        _raises(read),
    )


def _grouped(messages: pa.Table) -> tuple[int, Int64s | None]:
    if "group" not in messages.column_names:
        return 0, None
    numbers, words = coded(messages, "group")
    if "" in words:
        numbers = np.where(numbers == words.index(""), NONE, numbers)
    return len(words), numbers


def _integers(messages: pa.Table, name: str, missing: int) -> Int64s | None:
    """A column of integers, `missing` where a row has none; None: there is no such column."""
    if name not in messages.column_names:
        return None
    cells = integral(column(messages, name))
    return np.where(cells.known, cells.values, missing)


def _raises(messages: pa.Table) -> bool:
    if "type" not in messages.column_names:
        return False
    return bool(pc.any(pc.equal(text(messages, "type"), SET_PRIORITY)).as_py())
