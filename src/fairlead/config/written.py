"""A cluster written as the file that a user would write."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from fairlead.balance.cluster import Cluster


def as_toml(cluster: Cluster, comment: str = "") -> str:
    """The text of the cluster's file, without what a file need not say. `comment`: its first lines.

    Reading it gives the same cluster.
    """
    import tomli_w

    plain = _writable(_without_defaults(cluster.tables, cluster.to_dict()))
    lists = {key: plain.pop(key) for key in [*plain] if _is_tables(plain[key])}
    parts = [tomli_w.dumps({"name": cluster.name, **plain})]
    for key, tables in lists.items():
        parts += [f"[[{key}]]\n{tomli_w.dumps(table)}" for table in tables]
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + "\n".join(parts)


def _is_tables(value: object) -> bool:
    """Whether it is a list of tables, each of which gets a heading of its own."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _without_defaults(table: msgspec.Struct, plain: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for field in msgspec.structs.fields(table):
        name, value = field.encode_name, getattr(table, field.name)
        if name not in plain or value == _default(field):
            continue
        inside = plain[name]
        if isinstance(value, msgspec.Struct):
            inside = _without_defaults(value, inside)
        elif isinstance(value, list):
            inside = [
                _without_defaults(member, plain_member)
                if isinstance(member, msgspec.Struct)
                else plain_member
                for member, plain_member in zip(value, inside, strict=True)
            ]
        result[name] = inside
    return result


def _default(field: msgspec.structs.FieldInfo) -> object:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _writable(value: Any) -> Any:  # noqa: ANN401 - what TOML can hold
    if isinstance(value, Mapping):
        return {key: _writable(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_writable(member) for member in value]
    return float(value) if isinstance(value, Decimal) else value
