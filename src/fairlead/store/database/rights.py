"""Which roles may do what on PostgreSQL, as the file says that grants it."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from fairlead.store.database.statements import grants

DIALECT: Final = "postgresql"
VIEWER: Final = "fairlead_viewer"
MEMBER: Final = re.compile(r"^GRANT fairlead_(\w+) TO fairlead_(\w+);", re.MULTILINE)
CALLED: Final = re.compile(r"\('(\w+)', '\{([^}]*)\}")
READ: Final = re.compile(r"^GRANT SELECT ON ([^;(]+?)\s+TO fairlead_(\w+);", re.MULTILINE)
ALL: Final = re.compile(
    r"^GRANT \w+ ON ALL \w+ IN SCHEMA fairlead TO fairlead_(\w+);", re.MULTILINE
)
USED: Final = re.compile(r"\bfairlead\.(\w+)")


@cache
def who_may(statement: str) -> tuple[str, ...]:
    """The roles that may run a statement, each without those above it, which may, too."""
    used = {*USED.findall(statement)}
    above = {upper: lower for lower, upper in MEMBER.findall(grants(DIALECT))}
    able = [role for role, granted in _rights().items() if granted is None or used <= granted]
    return tuple(f"fairlead_{role}" for role in able if above.get(role) not in able)


@cache
def _rights() -> dict[str, frozenset[str] | None]:
    """Role → the functions and tables that it has, the lowest role first; None: all there are.

    A table of which a role may read some columns alone is not among them.
    """
    text = grants(DIALECT)
    found: dict[str, frozenset[str] | None] = {}
    chain = MEMBER.findall(text)
    below = {upper: lower for lower, upper in chain}
    everything = {*ALL.findall(text)}
    named = [role for _, role in READ.findall(text)]
    for role in dict.fromkeys([chain[0][0], *(upper for _, upper in chain), *named]):
        called = [names.split(",") for each, names in CALLED.findall(text) if each == role]
        read = [USED.findall(tables) for tables, each in READ.findall(text) if each == role]
        inherited = found.get(below.get(role, ""), frozenset())
        own = frozenset(name for names in (*called, *read) for name in names)
        found[role] = None if role in everything or inherited is None else own | inherited
    return found
