"""What is said of messages that have been sent: outcomes, as the engine has them."""

from __future__ import annotations

from typing import Any, Final

from fairlead.serve.codec import DescribedValue, Symbol, ULong
from fairlead.serve.wire import events as r
from fairlead.serve.wire.proton import LIB, put, set_condition, text, value_of

KINDS: Final = (r.ACCEPTED, r.REJECTED, r.RELEASED, r.MODIFIED)
NAMES: Final = {
    "amqp:accepted:list": r.ACCEPTED,
    "amqp:rejected:list": r.REJECTED,
    "amqp:released:list": r.RELEASED,
    "amqp:modified:list": r.MODIFIED,
}


def outcome_of(delivery: Any) -> r.Outcome:  # noqa: ANN401 - of the engine's
    """What the peer says of a message."""
    kind = LIB.pn_delivery_remote_state(delivery)
    if kind == r.ACCEPTED:
        return _ACCEPTED
    if kind in (0, r.RELEASED):
        return r.Outcome(kind)
    disposition = LIB.pn_delivery_remote(delivery)
    if kind == r.REJECTED:
        condition = LIB.pn_disposition_condition(disposition)
        name = text(LIB.pn_condition_get_name(condition))
        why = text(LIB.pn_condition_get_description(condition))
        return r.Outcome(kind, condition=r.Condition(name, why) if name or why else None)
    if kind == r.MODIFIED:
        return r.Outcome(
            kind,
            failed=bool(LIB.pn_disposition_is_failed(disposition)),
            elsewhere=bool(LIB.pn_disposition_is_undeliverable(disposition)),
            annotations=value_of(LIB.pn_disposition_annotations(disposition)),
        )
    if kind == r.TRANSACTIONAL:
        return _transactional(value_of(LIB.pn_disposition_data(disposition)))
    return r.Outcome(0)


_ACCEPTED: Final = r.Outcome(r.ACCEPTED)


def say_outcome(delivery: Any, outcome: r.Outcome) -> None:  # noqa: ANN401
    """Say what became of a message."""
    disposition = LIB.pn_delivery_local(delivery)
    if outcome.transaction is not None:
        fields = [outcome.transaction]
        if outcome.kind != r.DECLARED:
            inner = _described(outcome) if outcome.kind else None
            put(LIB.pn_disposition_data(disposition), [*fields, inner])
            LIB.pn_delivery_update(delivery, r.TRANSACTIONAL)
            return
        put(LIB.pn_disposition_data(disposition), fields)
    elif outcome.kind == r.REJECTED and outcome.condition is not None:
        where = LIB.pn_disposition_condition(disposition)
        set_condition(where, outcome.condition.name, outcome.condition.description)
    elif outcome.kind == r.MODIFIED:
        LIB.pn_disposition_set_failed(disposition, outcome.failed)
        LIB.pn_disposition_set_undeliverable(disposition, outcome.elsewhere)
    LIB.pn_delivery_update(delivery, outcome.kind)


def _described(outcome: r.Outcome) -> DescribedValue:
    condition = outcome.condition
    fields: list[object] = []
    if outcome.kind == r.REJECTED and condition is not None:
        error = [Symbol(condition.name), condition.description or None]
        fields = [DescribedValue(ULong(0x1D), error)]
    elif outcome.kind == r.MODIFIED:
        fields = [outcome.failed, outcome.elsewhere]
    return DescribedValue(ULong(outcome.kind), fields)


def _transactional(value: Any) -> r.Outcome:  # noqa: ANN401
    """Of a transactional state: in which transaction, and what."""
    fields = value if isinstance(value, list) else []
    transaction = fields[0] if fields and isinstance(fields[0], bytes) else b""
    inner = fields[1] if len(fields) > 1 else None
    if not isinstance(inner, DescribedValue):
        return r.Outcome(0, transaction=transaction)
    kind = inner.descriptor
    kind = NAMES.get(kind, 0) if isinstance(kind, str) else int(kind)
    of = inner.value if isinstance(inner.value, list) else []
    more = of + [None] * 3
    if kind == r.MODIFIED:
        return r.Outcome(
            kind,
            failed=bool(more[0]),
            elsewhere=bool(more[1]),
            annotations=more[2],
            transaction=transaction,
        )
    if kind == r.REJECTED:
        return r.Outcome(kind, condition=_condition(more[0]), transaction=transaction)
    return r.Outcome(kind if kind in KINDS else 0, transaction=transaction)


def _condition(error: Any) -> r.Condition | None:  # noqa: ANN401
    if (
        not isinstance(error, DescribedValue)
        or not isinstance(error.value, list)
        or not error.value
    ):
        return None
    description = error.value[1] if len(error.value) > 1 else None
    return r.Condition(str(error.value[0]), str(description or ""))
