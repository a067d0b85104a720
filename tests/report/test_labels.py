"""Labels of charts: short, and as different as the names that they stand for."""

import pytest
from tests.report.comparisons import replayed, scenario
from tests.report.reading import Page, rows

from fairlead import report
from fairlead.report.replayed.labels import LONGEST, labels

SWEPT = [
    f"s: gpu-2 speed {k}, gpu-3 present {on}" for k in ("1", "1.5") for on in ("true", "false")
]
ALIKE = [
    [f"{'x' * 100}{k}" for k in range(3)],
    [f"{'x' * 40}{k:02}{'x' * 40}" for k in range(120)],
    [f"readers of the third gpu: {k}" for k in (2, 4, 10)],
    SWEPT,
    ["a\u202eb", "a\\u202eb"],
]


@pytest.mark.parametrize("longest", [LONGEST, 48])
@pytest.mark.parametrize("names", ALIKE)
def test_no_two_are_the_same_and_none_is_long(names: list[str], longest: int) -> None:
    found = labels(names, longest)
    assert len(set(found.values())) == len(names)
    assert max(map(len, found.values())) <= longest
    assert all(label.isprintable() for label in found.values())


def test_they_keep_what_tells_them_apart() -> None:
    assert list(labels(ALIKE[2]).values()) == [
        "readers of …ird gpu: 2",
        "readers of …ird gpu: 4",
        "readers of …rd gpu: 10",
    ]
    assert list(labels(SWEPT).values())[::2] == ["…1, gpu-3 present true", "…1.5, gpu-3…esent true"]


@pytest.mark.parametrize("names", ALIKE)
def test_charts_have_them_and_the_whole_name_beside(names: list[str]) -> None:
    some = names[:8]
    lost = {"outcomes": {"routed": 150, "lost": 50}}
    made = replayed(*(scenario(name, 4.0, **lost) for name in some))
    for spec in Page(report.render_comparison(made)).specs:
        told = {(row["s"], row["w"]) for row in rows(spec) if "w" in row}
        assert len({label for label, _ in told}) == len(told)
        assert all(len(label) <= LONGEST for label, _ in told)
