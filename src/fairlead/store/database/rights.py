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
    rights: dict[str, frozenset[str] | None] = {}
    chain = MEMBER.findall(text)
    below = {upper: lower for lower, upper in chain}
    everything = {*ALL.findall(text)}
    named = [role for _, role in READ.findall(text)]
    for role in dict.fromkeys([chain[0][0], *(upper for _, upper in chain), *named]):
        called = [names.split(",") for grantee, names in CALLED.findall(text) if grantee == role]
        read = [USED.findall(tables) for tables, grantee in READ.findall(text) if grantee == role]
        inherited = rights.get(below.get(role, ""), frozenset())
        objects = frozenset(name for names in (*called, *read) for name in names)
        rights[role] = None if role in everything or inherited is None else objects | inherited
    return rights
