"""Every choice rule has words for an explanation."""

from collections.abc import Iterator
from inspect import isabstract

import pytest

import fairlead
from fairlead.balance.rules.rule import Rule
from fairlead.balance.words.rule_choices import WORDINGS


def kinds(of: type[Rule]) -> Iterator[type[Rule]]:
    for each in of.__subclasses__():
        yield each
        yield from kinds(each)


RULES = sorted(
    {each for each in kinds(Rule) if each.__module__.startswith(f"{fairlead.__name__}.")},
    key=lambda each: each.__name__,
)


@pytest.mark.parametrize("rule", [each for each in RULES if not isabstract(each)])
def test_every_rule_has_words(rule: type[Rule]) -> None:
    assert rule in WORDINGS
