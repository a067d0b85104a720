"""Selectors of JMS: what they say of a message."""

from __future__ import annotations

import time

import pytest

from fairlead.serve.selector import SelectorError, selector

FACTS = {"colour": "red", "n": 5, "price": 1.5, "sale": True, "text": "a_b%c'd", "JMSPriority": 7}


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("colour = 'red'", True),
        ("colour <> 'red'", False),
        ("colour = 'blue' OR n = 5", True),
        ("colour = 'red' AND n > 5", False),
        ("NOT n > 5", True),
        ("not (n > 5 or price < 1)", True),
        ("n = 5.0 AND price >= 1.5E0 and n <= 5 and price < 2", True),
        ("n + 1 = 6 AND n - 1 * 2 = 3 AND (n - 1) * 2 = 8", True),
        ("n / 2 = 2 AND -n / 2 = -2 AND n / 2.0 = 2.5", True),
        ("n / 0 = 1 OR n / 0 <> 1", False),
        ("- -n = 5 AND +n = 5", True),
        ("n BETWEEN 5 AND 6", True),
        ("n NOT BETWEEN 5 AND 6", False),
        ("colour BETWEEN 1 AND 2", False),
        ("colour IN ('blue', 'red')", True),
        ("colour NOT IN ('blue')", True),
        ("nothing IN ('blue')", False),
        ("nothing NOT IN ('blue')", False),
        ("nothing = 1 OR NOT nothing = 1", False),
        ("nothing = 1 OR n = 5", True),
        ("nothing IS NULL AND n IS NOT NULL", True),
        ("sale", True),
        ("sale = TRUE AND NOT sale = FALSE", True),
        ("n", False),
        ("colour = 5 OR colour <> 5", False),
        ("colour > 'a'", False),
        ("colour LIKE 'r%'", True),
        ("colour LIKE 'r_d'", True),
        ("colour LIKE '_r%'", False),
        ("colour LIKE '%e%d'", True),
        ("colour LIKE '%ed%d'", False),
        ("colour LIKE 'red%red'", False),
        ("colour NOT LIKE '%x%'", True),
        ("text LIKE 'a!_b!%c''d' ESCAPE '!'", True),
        ("colour LIKE 'r!_d' ESCAPE '!'", False),
        ("nothing LIKE '%' OR nothing NOT LIKE '%'", False),
        ("JMSPriority > 6", True),
    ],
)
def test_it_is_sql_s_condition(said: str, wanted: bool) -> None:
    assert selector(said)(FACTS) is wanted


@pytest.mark.parametrize(
    "said",
    [
        *("", "colour =", "= 5", "(n = 5", "n = 5)", "n NOT 5", "n IN ()", "n LIKE 5", "n # 5"),
        *("n LIKE 'a' ESCAPE 'ab'", "n IS 5", "n BETWEEN 1", "'open", "(" * 60 + "n" + ")" * 60),
        "n = 1 OR " * 500 + "n = 2",
    ],
)
def test_what_is_none_is_refused(said: str) -> None:
    with pytest.raises(SelectorError, match="allowed"):
        selector(said)


def test_no_pattern_goes_back() -> None:
    wanted = selector("text LIKE '" + "%a" * 1000 + "%b'")
    before = time.process_time()
    assert not wanted({"text": "a" * 10_000})
    assert not wanted({"text": "a" * 10_001})
    assert time.process_time() - before < 5
