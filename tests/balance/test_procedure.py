"""What decides about a message."""

import pytest

from fairlead.balance.procedure import (
    BINDING,
    NO_CANDIDATE,
    NONE,
    PRESELECTION,
    RULE,
    what_decides,
)

CASES = [
    # bound, preselected, some → what decides
    (2, NONE, True, BINDING),
    (2, NONE, False, BINDING),
    (2, 1, True, BINDING),
    (NONE, 1, True, PRESELECTION),
    (NONE, 1, False, PRESELECTION),
    (NONE, NONE, True, RULE),
    (NONE, NONE, False, NO_CANDIDATE),
    (0, 0, False, BINDING),
    (NONE, 0, False, PRESELECTION),
]


@pytest.mark.parametrize(("bound", "preselected", "some", "decides"), CASES)
def test_a_binding_comes_before_a_preselection_and_that_before_the_rule(
    bound: int, preselected: int, some: bool, decides: int
) -> None:
    assert what_decides(bound, preselected, some) == decides
