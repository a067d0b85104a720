"""The kernel's functions come from many modules and are compiled with all their names as one."""

from types import ModuleType

import pytest

from fairlead.balance.rules.first_by_name import FirstByName
from fairlead.compiled.engine import engine
from fairlead.order import key
from fairlead.replay import events


def test_a_name_with_two_meanings_is_refused_before_anything_is_compiled() -> None:
    def other() -> int:
        return NOTHING  # type: ignore[name-defined,no-any-return]  # noqa: F821

    stranger = type(other)(other.__code__, {"NOTHING": key.NOTHING + 1, "__name__": "stranger"})
    kernel = ModuleType("kernel")
    vars(kernel).update(vars(events))
    vars(kernel)["BASE"] = (*events.BASE, stranger)
    with pytest.raises(RuntimeError, match=r"stranger: NOTHING has two meanings"):
        engine(kernel, FirstByName())
