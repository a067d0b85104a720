"""What a user may be in the console."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Who may do more may do all that the other may."""

    VIEWER = "viewer"
    """Looks."""
    OPERATOR = "operator"
    """Changes what there is, too."""

    def may(self, role: Role) -> bool:
        """Whether who is this may do what takes a role."""
        return self is Role.OPERATOR or role is Role.VIEWER
