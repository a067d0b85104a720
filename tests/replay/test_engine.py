"""The kernel's functions come from many modules and are compiled with all their names as one."""

from types import ModuleType

import pytest

from fairlead.replay import events, flow


@pytest.mark.parametrize("kernel", [events, flow], ids=["events", "flow"])
def test_a_name_means_the_same_in_all_modules_of_a_kernel(kernel: ModuleType) -> None:
    meant: dict[str, object] = {}
    for function in (*kernel.BASE, *kernel.OF_A_RULE, *kernel.CHOSEN):
        for name in function.__code__.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                assert meant.setdefault(name, value) is value, (name, function.__module__)
