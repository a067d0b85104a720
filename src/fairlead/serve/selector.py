"""Selectors of JMS: which messages a receiver wants, by their properties.

SQL's conditions with its three values: what compares with nothing is unknown (None), and only what
is true is wanted. A selector is what a peer says, so it is short, nested a little, and matched
without going back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from fairlead.balance.objects import repr_of
from fairlead.serve import message as messages
from fairlead.store.message import GivenMessage

MOST: Final = 4096
"""Characters of a selector."""
DEEPEST: Final = 50
LONGEST: Final = 10_000
"""Characters of a text that LIKE looks at; a longer one is like nothing."""
Facts = Mapping[str, Any]
Test = Callable[[Facts], Any]

_TOKEN: Final = re.compile(
    r"\s*(?:('(?:[^']|'')*')|((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[lLfFdD]?|"
    r"([A-Za-z_$][A-Za-z0-9_$.]*)|(<>|<=|>=|[=<>()+\-*/,]))"
)
_WORDS: Final = {
    *("AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "ESCAPE", "IS", "NULL", "TRUE", "FALSE"),
}
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_COUNT: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if isinstance(a, float) or isinstance(b, float) else _whole(a, b),
}


class SelectorError(Exception):
    """A selector that is none."""


def selector(text: str) -> Callable[[Facts], bool]:
    """Whether a message is wanted, by what is known of it. Raises SelectorError."""
    if len(text) > MOST:
        raise SelectorError(f"found {len(text)} characters, allowed: at most {MOST}")
    parser = _Parser(_tokens(text))
    test = parser.condition(0)
    if parser.next:
        raise SelectorError(f"found {repr_of(parser.next[1])}, allowed: the end, AND or OR")
    return lambda facts: test(facts) is True


def facts_of(message: GivenMessage) -> dict[str, Any]:
    """What selectors may ask of a message."""
    facts: dict[str, Any] = {
        "JMSMessageID": message.id,
        "JMSType": message.type,
        "JMSTimestamp": int(message.sent * 1000),
        "JMSPriority": messages.USUAL,
        "JMSDeliveryMode": "PERSISTENT",
        "JMSXGroupID": message.group or None,
    }
    if message.envelope is None:
        return facts
    incoming = messages.incoming(message.envelope)
    facts.update(
        (str(key), messages.plain(value)) for key, value in incoming.application_properties.items()
    )
    correlation = incoming.properties.get("correlation_id")
    facts["JMSCorrelationID"] = messages.name_of(correlation)
    facts["JMSPriority"] = messages.USUAL if incoming.priority is None else int(incoming.priority)
    facts["JMSDeliveryMode"] = "PERSISTENT" if incoming.durable else "NON_PERSISTENT"
    return facts


def _tokens(text: str) -> list[tuple[str, Any]]:
    tokens: list[tuple[str, Any]] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise SelectorError(f"found {repr_of(text[at : at + 20])}, allowed: SQL's conditions")
        literal, number, name, sign = match.groups()
        if literal is not None:
            tokens.append(("value", literal[1:-1].replace("''", "'")))
        elif number is not None:
            tokens.append(("value", int(number) if number.isdigit() else float(number)))
        elif name is not None and name.upper() in _WORDS:
            tokens.append((name.upper(), name))
        elif name is not None:
            tokens.append(("name", name))
        else:
            tokens.append((sign, sign))
        at = match.end()
    return tokens


class _Parser:
    """By descent: OR, AND, NOT, a comparison, sums, products, one thing."""

    def __init__(self, tokens: list[tuple[str, Any]]) -> None:
        self._tokens = tokens[::-1]

    @property
    def next(self) -> tuple[str, Any] | None:
        return self._tokens[-1] if self._tokens else None

    def _is(self, *kinds: str) -> bool:
        """Whether this is what comes now; then it is read."""
        if self._tokens and self._tokens[-1][0] in kinds:
            self._last = self._tokens.pop()[0]
            return True
        return False

    def _need(self, kind: str) -> Any:  # noqa: ANN401 - as the token is
        if self._tokens and self._tokens[-1][0] == kind:
            return self._tokens.pop()[1]
        word = repr_of(self._tokens[-1][1]) if self._tokens else "the end"
        raise SelectorError(f"found {word}, allowed: {kind}")

    def condition(self, depth: int) -> Test:
        if depth > DEEPEST:
            raise SelectorError(f"found more than {DEEPEST} nested, allowed: at most {DEEPEST}")
        every = [self._all(depth)]
        while self._is("OR"):
            every.append(self._all(depth))
        return every[0] if len(every) == 1 else lambda facts: _any(test(facts) for test in every)

    def _all(self, depth: int) -> Test:
        every = [self._not(depth)]
        while self._is("AND"):
            every.append(self._not(depth))
        if len(every) == 1:
            return every[0]
        return lambda facts: _not(_any(_not(test(facts)) for test in every))

    def _not(self, depth: int) -> Test:
        negated = False
        while self._is("NOT"):
            negated = not negated
        test = self._comparison(depth)
        return (lambda facts: _not(test(facts))) if negated else test

    def _comparison(self, depth: int) -> Test:
        left = self._sum(depth)
        if self._is(*_COMPARE):
            return _compared(self._last, left, self._sum(depth))
        if self._is("IS"):
            negated = self._is("NOT")
            self._need("NULL")
            return lambda facts: (left(facts) is None) is not negated
        negated = self._is("NOT")
        test: Test
        if self._is("BETWEEN"):
            low = self._sum(depth)
            self._need("AND")
            high = self._sum(depth)
            test = _both(_compared(">=", left, low), _compared("<=", left, high))
        elif self._is("IN"):
            test = self._in(left)
        elif self._is("LIKE"):
            pattern = self._need("value")
            escape = self._need("value") if self._is("ESCAPE") else ""
            test = _like(left, pattern, escape)
        elif negated:
            raise SelectorError("found NOT, allowed behind it: BETWEEN, IN or LIKE")
        else:
            return left
        return (lambda facts: _not(test(facts))) if negated else test

    def _in(self, left: Test) -> Test:
        self._need("(")
        every = {self._need("value")}
        while self._is(","):
            every.add(self._need("value"))
        self._need(")")

        def test(facts: Facts) -> bool | None:
            value = left(facts)
            return None if value is None else value in every

        return test

    def _sum(self, depth: int) -> Test:
        left = self._product(depth)
        while self._is("+", "-"):
            left = _counted(self._last, left, self._product(depth))
        return left

    def _product(self, depth: int) -> Test:
        left = self._one(depth)
        while self._is("*", "/"):
            left = _counted(self._last, left, self._one(depth))
        return left

    def _one(self, depth: int) -> Test:
        sign = 1
        while self._is("+", "-"):
            sign = -sign if self._last == "-" else sign
        if self._is("("):
            test = self.condition(depth + 1)
            self._need(")")
        elif self._is("TRUE", "FALSE"):
            value = self._last == "TRUE"
            test = lambda _: value  # noqa: E731
        elif self.next is not None and self.next[0] == "name":
            name = self._need("name")
            test = lambda facts: facts.get(name)  # noqa: E731
        else:
            value = self._need("value")
            test = lambda _: value  # noqa: E731
        return _counted("-", lambda _: 0, test) if sign < 0 else test


def _any(every: Any) -> bool | None:  # noqa: ANN401 - of truths
    verdict: bool | None = False
    for truth in every:
        if truth is True:
            return True
        if truth is not False:
            verdict = None
    return verdict


def _not(value: object) -> bool | None:
    return not value if isinstance(value, bool) else None


def _both(one: Test, other: Test) -> Test:
    return lambda facts: _not(_any((_not(one(facts)), _not(other(facts)))))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compared(sign: str, left: Test, right: Test) -> Test:
    def test(facts: Facts) -> bool | None:
        one, other = left(facts), right(facts)
        if one is None or other is None:
            return None
        both = _is_number(one) and _is_number(other)
        if not both and (type(one) is not type(other) or sign not in ("=", "<>")):
            return False
        return _COMPARE[sign](one, other)

    return test


def _counted(sign: str, left: Test, right: Test) -> Test:
    def value(facts: Facts) -> Any:  # noqa: ANN401 - a number
        one, other = left(facts), right(facts)
        if not (_is_number(one) and _is_number(other)):
            return None
        try:
            return _COUNT[sign](one, other)
        except (ArithmeticError, ValueError):
            return None

    return value


def _whole(one: int, other: int) -> int:
    """As Java divides: towards 0."""
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _parts(pattern: object, escape: object) -> list[str]:
    """What stands between the `%` of a pattern, each of a length of its own."""
    if not isinstance(pattern, str) or not isinstance(escape, str) or len(escape) > 1:
        raise SelectorError("found LIKE, allowed with it: a text, and one character to ESCAPE")
    parts = [""]
    escaped = False
    for character in pattern:
        if escaped or (character not in "%_" and character != escape):
            parts[-1] += re.escape(character)
            escaped = False
        elif character == escape:
            escaped = True
        elif character == "%":
            parts.append("")
        else:
            parts[-1] += "."
    return parts


def _like(left: Test, pattern: object, escape: object) -> Test:
    """`%`: any characters, `_`: one. The parts between `%` are found one behind the other."""
    parts = _parts(pattern, escape)
    first, *others = [re.compile(part, re.DOTALL) for part in parts]
    last = others.pop() if others else None

    def test(facts: Facts) -> bool | None:
        text = left(facts)
        if text is None:
            return None
        if not isinstance(text, str) or len(text) > LONGEST:
            return False
        if last is None:
            return first.fullmatch(text) is not None
        match = first.match(text)
        for part in others:
            match = match and part.search(text, match.end())
        if match is None:
            return False
        # each part has a length of its own, so the last one stands at the very end
        width = _width(parts[-1])
        start = len(text) - width
        return start >= match.end() and last.fullmatch(text, start) is not None

    return test


def _width(part: str) -> int:
    """Characters that a part matches: it has escaped ones, and dots."""
    return len(re.sub(r"\\.", "x", part, flags=re.DOTALL))
