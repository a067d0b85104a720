"""Route a table in memory, without Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.message import CONTRADICTIONS, DECISION, SET_PRIORITY, SPELLED_ALIKE, WORDS
from fairlead.balance.policy import Raw
from fairlead.balance.rules.keyed import NO_KEY as WITHOUT
from fairlead.balance.rules.keyed import number_of
from fairlead.compiled.bindings import NO_KEY, NOT_SAID, UNBOUND, Bindings
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.labels import Codes
from fairlead.compiled.needed import check_columns
from fairlead.compiled.order import in_order, taken
from fairlead.compiled.router import Plan, Router
from fairlead.compiled.unique import all_different
from fairlead.config.changes import LATEST, MICROS
from fairlead.errors import MessageError

KEY_TYPES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_null,
)
LONGEST_SERVICE = 4_000_000_000
DENSE = 1 << 20


def route(
    messages: pa.Table,
    clusters: Cluster | Iterable[Cluster],
    changes: Sequence[Change] = (),
    *,
    trust_ids: bool = False,
) -> pa.Table:
    """Decide where each message of a table goes.

    `messages`: columns `id` and `time` (a timestamp, or a number of seconds), and any of the
    routing attributes; other columns are carried through. The rows may be in any order; they are
    decided in the order of (`position` or `time`, `id`). `changes`: their times count from where
    the messages' do. `trust_ids`: do not look for duplicates.

    Returns the rows in that order with `destination`, `address`, `outcome` (dictionaries of text)
    and `sequence` (int64) added, the same values that the live balancer and Spark give; a message
    that goes to several destinations is a row for each, by name. Raises ConfigError, ChangeError,
    RuleError, and MessageError for rows that Spark
    would put into `rejected/`: here the table is the caller's own, so it is refused as a whole.
    """
    plan = Plan(clusters_in(clusters), list(changes))
    _check(messages, plan.heeds, trust_ids=trust_ids)
    check_columns(plan, messages.column_names, "messages")
    _check_keys(messages, plan)
    times = _times(messages)
    order = _order(messages, times)
    if order is not None:
        messages = taken(messages, order)
    dated: Int64s | None = None
    if plan.times or any(plan.timed.values()):
        dated = times if order is None else times[order]
    codes = classes(messages, plan)
    router = Router(plan)
    services = _services(messages, plan)
    bound = bindings(messages, plan, codes)
    told = router.feed(codes, dated, services, bound, keys(messages, plan, codes))
    sequence = router.sequence(codes)
    label = told % router.codes.size if plan.fans_out else told
    if plan.fans_out:
        rows, destination, address = fanned_out(router.codes, told)
        messages = messages.take(pa.array(rows))
        label, sequence = label[rows], sequence[rows]
    else:
        found = pa.array(label)
        destination = _spelled(router.codes.destination, found)
        address = _spelled(router.codes.address, found)
    return (
        messages.append_column("destination", destination)
        .append_column("address", address)
        .append_column("outcome", _spelled(router.codes.outcome, pa.array(label)))
        .append_column("sequence", pa.array(sequence, mask=sequence < 0))
    )


def fanned_out(codes: Codes, told: Int32s) -> tuple[Int64s, pa.Array, pa.Array]:
    """A row for each destination of each message: its message, the destination, the address."""
    distinct, which = np.unique(told, return_inverse=True)
    texts: dict[str | None, int] = {}
    parts = []
    for code in distinct.tolist():
        every: Iterable[tuple[str | None, str | None]] = codes.spelled(code)
        parts.append([[texts.setdefault(word, len(texts)) for word in each] for each in every])
    sizes = np.array([len(part) for part in parts], np.int64)
    flat = np.array([pair for part in parts for pair in part], np.int32).reshape(-1, 2)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.repeat(np.arange(len(told)), sizes[which])
    ends = np.cumsum(sizes[which])
    inside = np.arange(len(rows)) - np.repeat(ends - sizes[which], sizes[which])
    at = flat[starts[which][rows] + inside]
    words = list(texts)
    return rows, _spelled(words, pa.array(at[:, 0])), _spelled(words, pa.array(at[:, 1]))


def _spelled(words: Sequence[str | None], codes: pa.Array) -> pa.Array:
    """Codes as a dictionary-encoded column of words."""
    distinct = list(dict.fromkeys(word for word in words if word is not None))
    place = {word: k for k, word in enumerate(distinct)}
    at = pa.array([None if word is None else place[word] for word in words], pa.int32())
    return pa.DictionaryArray.from_arrays(at.take(codes), pa.array(distinct, pa.string()))


def _check(messages: pa.Table, heeded: Collection[str], *, trust_ids: bool) -> None:
    if not isinstance(messages, pa.Table):
        raise MessageError(f"messages: found a {type(messages).__name__}, allowed: a pyarrow.Table")
    for name in ("id", "time"):
        if name not in messages.column_names:
            raise MessageError(
                f"messages: no column {name!r}, found: {', '.join(messages.column_names)}"
            )
    for name in DECISION:
        if name in messages.column_names:
            raise MessageError(f"messages: column {name!r} is what the decisions add; rename it")
    ids = _text(messages, "id")
    if pc.any(pc.equal(ids, "")).as_py():
        raise MessageError("messages: id: found nothing in a row, allowed: a text")
    if not trust_ids and not all_different(ids):
        raise MessageError("messages: id: found one twice, allowed: once")
    _check_words(messages, heeded)


def _check_words(messages: pa.Table, heeded: Collection[str]) -> None:
    for name, words in WORDS.items():
        if name not in messages.column_names or name not in heeded:
            continue
        for value in pc.unique(_text(messages, name)).to_pylist():
            if value and value not in words:
                raise MessageError(
                    f"messages: {name}: found {value!r}, allowed: {', '.join(words)}, empty"
                )
    for rule in CONTRADICTIONS:
        if rule.flag not in heeded:
            continue
        flagged = pc.equal(_text(messages, rule.flag), "true")
        for name in rule.excludes:
            both = pc.and_(flagged, pc.not_equal(_text(messages, name), ""))
            if pc.any(both).as_py():
                raise MessageError(f"messages: {rule.flag}: a message with it has no {name}")


def _check_keys(messages: pa.Table, plan: Plan) -> None:
    for name in plan.keyed.values():
        kind = messages.schema.field(name).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if not any(known(kind) for known in KEY_TYPES):
            raise MessageError(f"messages: {name}: found {kind}, allowed: {SPELLED_ALIKE}")


def _text(messages: pa.Table, name: str) -> pa.ChunkedArray:
    """A column as text, "" where it is not given or the table has none."""
    if name not in messages.column_names:
        return pa.chunked_array([pa.repeat("", len(messages))])
    return pc.fill_null(messages.column(name).cast(pa.string()), "")


def _times(messages: pa.Table) -> Int64s:
    column = messages.column("time")
    if column.null_count:
        raise MessageError("messages: time: found nothing in a row")
    if pa.types.is_timestamp(column.type):
        found = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
        return np.asarray(found.to_numpy(), np.int64)
    return _micros(messages, "time")


def _micros(messages: pa.Table, name: str) -> Int64s:
    """A number of seconds as whole microseconds."""
    column = messages.column(name)
    if pa.types.is_integer(column.type):
        whole = np.asarray(column.cast(pa.int64()).to_numpy(), np.int64)
        _check_range(name, whole)
        return whole * MICROS
    try:
        numbers = pc.fill_null(column.cast(pa.float64()), float("nan"))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise MessageError(
            f"messages: {name}: found {column.type}, allowed: a timestamp, or a number of seconds "
            f"({error})"
        ) from None
    seconds = np.asarray(numbers.to_numpy())
    if not np.isfinite(seconds).all():
        raise MessageError(f"messages: {name}: found something that is no number")
    _check_range(name, seconds)
    found: Int64s = np.floor(seconds * MICROS + 0.5).astype(np.int64)
    return found


def _check_range(name: str, seconds: NDArray[Any]) -> None:
    """Refuse what 64 bits of microseconds do not hold: nanoseconds since the epoch, mostly."""
    if len(seconds) and np.abs(seconds).max() > LATEST:
        raise MessageError(
            f"messages: {name}: found {np.abs(seconds).max()}, allowed: at most {LATEST} seconds"
        )


def _order(messages: pa.Table, times: Int64s) -> Int64s | None:
    """The rows in order, or None where they are already."""
    keys = times
    if "position" in messages.column_names:
        keys = np.asarray(messages.column("position").cast(pa.int64()).to_numpy(), np.int64)
    return in_order(keys, _text(messages, "id"))


def _coded(messages: pa.Table, name: str) -> tuple[Int64s, list[str]]:
    """A column as codes, and the words they stand for."""
    column = _text(messages, name).combine_chunks().dictionary_encode()
    return np.asarray(column.indices).astype(np.int64), column.dictionary.to_pylist()


def classes(messages: pa.Table, plan: Plan) -> Int32s:
    """The class code of each row; classes that the plan does not know yet are added to it."""
    every = dict.fromkeys(("cluster", *plan.reads, "type"))
    names = [name for name in every if name in messages.column_names]
    code = np.zeros(len(messages), np.int64)
    given: list[dict[str, str]] = [{}]
    for name in names:
        indices, words = _coded(messages, name)
        if name == "type" and name not in plan.reads:
            words, indices = _only_control(words, indices)
        distinct, code = _compressed(code * len(words) + indices)
        given = [{**given[c // len(words)], name: words[c % len(words)]} for c in distinct.tolist()]
    known = {each: code for code, each in enumerate(plan.classes)}
    recoded = []
    for each in given:
        control = each.get("type") == SET_PRIORITY
        found = plan.message_class(each.get("cluster", ""), each, control=control)
        recoded.append(known.setdefault(found, len(known)))
    if len(known) > len(plan.classes):
        plan.set_classes(list(known))
    return np.array(recoded, np.int32)[code]


def _only_control(words: list[str], indices: Int64s) -> tuple[list[str], Int64s]:
    """Of all types only the one of control messages matters."""
    control = np.array([word == SET_PRIORITY for word in words], np.int64)
    return ["", SET_PRIORITY], control[indices] if len(words) else indices


def _compressed(codes: Int64s) -> tuple[Int64s, Int64s]:
    """The distinct codes, and the codes as places among them."""
    top = int(codes.max()) + 1 if len(codes) else 0
    if top > DENSE:
        distinct, places = np.unique(codes, return_inverse=True)
        return distinct, places
    distinct = np.flatnonzero(np.bincount(codes, minlength=top))
    place = np.zeros(top, np.int64)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[codes]


def _services(messages: pa.Table, plan: Plan) -> Int64s | None:
    timed = any(plan.timed.values())
    if "service_time" not in messages.column_names:
        return None
    column = messages.column("service_time")
    if not timed:
        # Not given is allowed where nobody asks; what is given must still be sensible.
        messages = messages.filter(pc.is_valid(column))
    found = _micros(messages, "service_time")
    if len(found) and not 0 <= found.min() <= found.max() <= LONGEST_SERVICE * MICROS:
        raise MessageError(
            f"messages: service_time: found {found.min() / MICROS} to {found.max() / MICROS}, "
            f"allowed: 0 to {LONGEST_SERVICE} seconds"
        )
    return found if timed else None


def bindings(messages: pa.Table, plan: Plan, codes: Int32s) -> Bindings | None:
    """What each row may be bound by."""
    if not plan.binds or not len(messages):
        return None
    whose: dict[tuple[str, Raw], int] = {}
    places = [whose.setdefault((each.cluster, each.raw[:2]), len(whose)) for each in plan.classes]
    home = np.array(places, np.int64)[codes]
    said = np.full(len(messages), NOT_SAID, np.int8)
    if "bind" in plan.heeds:
        bind, words = _coded(messages, "bind")
        said = np.array([Bindings.code(word) for word in words], np.int8)[bind]
    keys: list[Int64s] = []
    for name in ("producer", "group"):
        indices, words = _coded(messages, name)
        _, key = _compressed(home * len(words) + indices)
        key += sum(int(each.max()) + 1 for each in keys)
        if name == "group":
            key = np.where(np.array([not word for word in words], np.bool_)[indices], NO_KEY, key)
        keys.append(key)
    size = max(int(each.max()) for each in keys) + 1
    free = np.ones(len(messages), np.bool_)
    return Bindings(said, keys[0], keys[1], np.full(size, UNBOUND, np.int64), free)


def keys(messages: pa.Table, plan: Plan, codes: Int32s) -> Int64s | None:
    """The number of each row's key, where its cluster chooses by one."""
    if not plan.keyed:
        return None
    found = np.full(len(messages), WITHOUT, np.int64)
    for name in dict.fromkeys(plan.keyed.values()):
        indices, words = _coded(messages, name)
        numbers = np.array([number_of(word, 0) if word else WITHOUT for word in words], np.int64)
        asked = [plan.keyed.get(each.cluster) == name for each in plan.classes]
        mine = np.array(asked, np.bool_)[codes]
        found[mine] = numbers[indices[mine]]
    return found
