"""A cluster as its file describes it: a name, a policy and the tables that the policy reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET

from fairlead.balance.objects import hint, listed, repr_of, shown
from fairlead.balance.policies import POLICIES
from fairlead.balance.policies.composed import COMPOSED, Composition, compose
from fairlead.balance.policy import ClusterTables, Policy
from fairlead.balance.refusal import read, text_for_number
from fairlead.balance.state import AnyState, start
from fairlead.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Cluster:
    """The destinations that one policy chooses among. Immutable; `start` gives it life."""

    name: str
    tables: ClusterTables
    """What its file says, checked."""
    policy: Policy

    def __reduce__(self) -> tuple[Callable[..., Cluster], tuple[object, ...]]:
        """Travel as plain data: a policy that was composed exists only where it was composed."""
        return (_from_dict, (self.to_dict(), self.name))

    def to_dict(self) -> dict[str, Any]:
        """As its file would say it, in plain data."""
        plain: dict[str, Any] = _numbers(msgspec.to_builtins(self.tables, builtin_types=(Decimal,)))
        return plain

    def start(self) -> AnyState:
        """The cluster at its beginning: nothing changed, nobody served."""
        return start(self.policy, self.tables)

    @classmethod
    def of(cls, policy: str, *, name: str = "", **tables: object) -> Cluster:
        """A cluster from plain data, with the keys of a cluster file.

        >>> cluster = Cluster.of("msmq", destination=[{"name": "A", "weight": 1}])
        >>> cluster.start().members
        ('A',)

        Raises ConfigError naming the key, what was found and what is allowed.
        """
        value: object = name
        named = {} if isinstance(value, str) and not value else {"name": value}
        return cls.from_dict({"policy": policy, **named, **tables}, default_name="default")

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], *, default_name: str) -> Cluster:
        """A cluster from a parsed file of one cluster, or one `[[cluster]]` of several.

        `default_name`: what it is called if it has no name. Raises ConfigError naming the key,
        what was found and what is allowed.
        """
        if not isinstance(plain, Mapping):
            raise ConfigError(f"cluster: found {repr_of(plain)}, allowed: a table of plain data")
        if not isinstance(default_name, str):
            raise ConfigError(f"default_name: found {repr_of(default_name)}, allowed: a text")
        plain = _texts(plain)
        policy = _policy(plain)
        kind = policy.tables
        wrong = text_for_number(plain, kind)
        if wrong:
            raise ConfigError(*wrong)
        tables = read(plain, kind, lambda: _keys_elsewhere(policy))
        cluster = cls(default_name if tables.name is UNSET else tables.name, tables, policy)
        cluster.start()
        return cluster


def _texts(plain: Any) -> Any:  # noqa: ANN401 - plain data of any kind
    """The same with plain texts for those that are also something else, such as enums."""
    if isinstance(plain, str):
        return str.__str__(plain)
    if isinstance(plain, Mapping):
        return {_texts(key): _texts(value) for key, value in plain.items()}
    return [_texts(value) for value in plain] if isinstance(plain, list | tuple) else plain


def _numbers(plain: Any) -> Any:  # noqa: ANN401 - plain data of any kind
    """The same with numbers for decimals, which have too few digits to lose any in a float."""
    if isinstance(plain, Decimal):
        return int(plain) if plain == int(plain) else float(plain)
    if isinstance(plain, dict):
        return {key: _numbers(value) for key, value in plain.items()}
    return [_numbers(value) for value in plain] if isinstance(plain, list) else plain


def clusters_in(value: object) -> list[Cluster]:
    """One cluster or several, as a list. Raises ConfigError for anything else."""
    every = list(value) if isinstance(value, Iterable) else [value]
    clusters = [cluster for cluster in every if isinstance(cluster, Cluster)]
    if len(clusters) < len(every):
        raise ConfigError(
            f"clusters: found {repr_of(value)}, allowed: a fairlead.Cluster, or several, "
            "as load_clusters makes them of a file"
        )
    if not clusters:
        raise ConfigError(
            "clusters: found none, allowed: at least one fairlead.Cluster (a generator gives each "
            "only once)"
        )
    return clusters


def _from_dict(plain: Mapping[str, Any], name: str) -> Cluster:
    return Cluster.from_dict(plain, default_name=name)


def _policy(plain: Mapping[str, Any]) -> Policy:
    """The policy that a file names, or puts together."""
    policy = plain.get("policy")
    if policy is None:
        _no_policy(plain)
    if isinstance(policy, Mapping):
        try:
            composition = read(policy, Composition)
        except ConfigError as error:
            raise ConfigError(
                f"policy.{error}; options of the choice rule stand in [options]",
                ["policy", *error.place],
            ) from None
        return compose(COMPOSED, tuple(composition.eliminate), composition.choose)
    if not isinstance(policy, str) or policy not in POLICIES:
        close = hint(policy, POLICIES) if isinstance(policy, str) else ""
        raise ConfigError(
            f"policy: found {shown(policy)}, allowed: {', '.join(POLICIES)}, "
            f"or a table with eliminate and choose{close}",
            ["policy"],
        )
    return POLICIES[policy]


@cache
def keys() -> Sequence[str]:
    """What stands in a cluster's file, under one policy or another; loads all policies."""
    every = (key for policy in POLICIES.values() for key in policy.tables.__struct_fields__)
    return tuple(dict.fromkeys(every))


def _no_policy(plain: Mapping[str, Any]) -> None:
    """Refuse a key that no policy knows: it may be the misspelt `policy`."""
    unknown = [str(key) for key in plain if key not in keys()]
    unknown.sort(key=lambda key: not hint(key, ["policy"]))
    if unknown:
        first, close = unknown[0], hint(unknown[0], keys())
        raise ConfigError(
            f"{first}: found an unknown key, allowed: {listed(keys())}{close}", unknown[:1]
        )


def _keys_elsewhere(policy: Policy) -> dict[str, set[str]]:
    """Policy → keys of its objects and options that this policy's have not."""
    policy_keys = _keys(policy)
    return {
        name: _keys(other) - policy_keys for name, other in POLICIES.items() if name != policy.name
    }


def _keys(chosen: Policy) -> set[str]:
    tables = [*chosen.kinds.values(), chosen.tables]
    options = [
        field.type for field in msgspec.structs.fields(chosen.tables) if field.name == "options"
    ]
    return {name for table in (*tables, *options) for name in table.__struct_fields__}
