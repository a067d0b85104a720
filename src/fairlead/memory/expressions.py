"""Expressions: the part of Spark SQL in which columns can be written for the engine in memory.

Names, literals, arithmetic, comparisons, logic, CASE, CAST, and the functions that are listed in
`functions.py`. Everything else is refused by its name: Spark has it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from fairlead.errors import UserError

TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[LlDd]?(?![A-Za-z_]))
    |(?P<raw>[rR](?:'[^']*'|"[^"]*"))
    |(?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    |(?P<name>[A-Za-z_]\w*|`(?:[^`]|``)+`)
    |(?P<sign><=>|\|\||==|!=|<>|<=|>=|[-+*/%=<>(),])
    )""",
    re.VERBOSE | re.DOTALL,
)
ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
BINDING: Final = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("=", "==", "<=>", "!=", "<>", "<", "<=", ">", ">="), 4),
    **dict.fromkeys(("+", "-", "||"), 5),
    **dict.fromkeys(("*", "/", "%", "div"), 6),
}
"""How strongly an operator between two binds; NOT stands between AND and comparisons."""
NOT: Final = 3
COMPARING: Final = 4
SIGNED: Final = 7
ALSO: Final = {"==": "=", "<>": "!=", "mod": "%"}
RESERVED: Final = {"and", "or", "not", "is", "when", "then", "else", "end", "as", "div"}
USE_SPARK: Final = "Spark has more: --engine spark"


@dataclass(frozen=True)
class Name:
    """A column, as it is written."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A value; `text` is how a number is written, from which its type follows."""

    value: str | bool | None
    number: bool = False


@dataclass(frozen=True)
class Call:
    """A function or an operator."""

    name: str
    of: tuple[Expression, ...]


@dataclass(frozen=True)
class Cast:
    """Another type; `tried`: null where a value cannot be that."""

    of: Expression
    kind: str
    tried: bool = False


@dataclass(frozen=True)
class Case:
    """The value of the first condition that holds."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression


Expression: TypeAlias = Name | Literal | Call | Cast | Case
DEEPEST: Final = 100
"""Expressions inside each other; what is computed of them calls itself as often."""
TOO_DEEP: Final = f"found expressions more than {DEEPEST} deep in each other, allowed: fewer"


def parse(text: str) -> Expression:
    """The expression. Raises UserError with what was found, and what is allowed."""
    reader = _ExpressionParser(_tokens(text))
    expression = reader.expression(0)
    if reader.here[0] != "end":
        raise UserError(f"found {reader.here[1]!r}, allowed: an operator, or the end; {USE_SPARK}")
    inside: list[Expression] = [expression]
    for _ in range(DEEPEST):
        inside = [part for around in inside for part in _parts(around)]
    if inside:
        raise UserError(TOO_DEEP)
    return expression


def _parts(expression: Expression) -> Sequence[Expression]:
    if isinstance(expression, Call):
        return expression.of
    if isinstance(expression, Cast):
        return (expression.of,)
    if isinstance(expression, Case):
        return (*(part for branch in expression.branches for part in branch), expression.otherwise)
    return ()


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    at = 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        if match is None:
            raise UserError(
                f"found {text[at:].strip()[:20]!r}, allowed: names, numbers, texts, operators and "
                f"functions; {USE_SPARK}"
            )
        kind = str(match.lastgroup)
        tokens.append((kind, match[kind]))
        at = match.end()
    return [*tokens, ("end", "the end")]


class _ExpressionParser:
    """A parser by binding powers (Pratt, Top Down Operator Precedence, 1973)."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = self.inside = 0

    @property
    def here(self) -> tuple[str, str]:
        return self.tokens[self.at]

    @property
    def word(self) -> str:
        """The token in lower case where it is an operator or a plain name, else nothing."""
        kind, text = self.here
        return text.lower() if kind in ("sign", "name") and not text.startswith("`") else ""

    def taken(self, *words: str) -> bool:
        if self.word not in words:
            return False
        self.at += 1
        return True

    def want(self, word: str) -> None:
        if not self.taken(word):
            raise UserError(f"found {self.here[1]!r}, allowed: {word.upper()}")

    def expression(self, least: int) -> Expression:
        self.inside += 1
        if self.inside > DEEPEST:
            raise UserError(TOO_DEEP)
        operation = self._operation(least)
        self.inside -= 1
        return operation

    def _operation(self, least: int) -> Expression:
        expression = self._begin()
        while True:
            word = self.word
            if word == "is" and least <= COMPARING:
                expression = self._null(expression)
                continue
            power = BINDING.get(word)
            if power is None or power < least:
                return expression
            self.at += 1
            expression = Call(ALSO.get(word, word), (expression, self.expression(power + 1)))

    def _null(self, expression: Expression) -> Expression:
        self.want("is")
        inverted = self.taken("not")
        self.want("null")
        test = Call("isnull", (expression,))
        return Call("not", (test,)) if inverted else test

    def _begin(self) -> Expression:
        kind, text = self.here
        self.at += 1
        if kind == "number":
            return Literal(text, number=True)
        if kind == "raw":
            return Literal(text[2:-1])
        if kind == "text":
            return Literal(_unescaped(text))
        if kind == "name":
            return Name(text[1:-1].replace("``", "`")) if text[0] == "`" else self._named(text)
        if text == "(":
            expression = self.expression(0)
            self.want(")")
            return expression
        if text in ("-", "+"):
            expression = self.expression(SIGNED)
            return Call("negative", (expression,)) if text == "-" else expression
        raise UserError(f"found {text!r}, allowed: a name, a value or (")

    def _named(self, text: str) -> Expression:
        word = text.lower()
        if word in ("true", "false"):
            return Literal(word == "true")
        if word == "null":
            return Literal(None)
        if word == "not":
            return Call("not", (self.expression(NOT),))
        if word == "case":
            return self._case()
        if word in RESERVED:
            raise UserError(f"found {text!r}, allowed: a name, a value or (")
        if not self.taken("("):
            return Name(text)
        if word in ("cast", "try_cast"):
            return self._cast(tried=word == "try_cast")
        return Call(word, self._arguments())

    def _arguments(self) -> tuple[Expression, ...]:
        arguments: list[Expression] = []
        while not self.taken(")"):
            if arguments:
                self.want(",")
            arguments.append(self.expression(0))
        return tuple(arguments)

    def _cast(self, *, tried: bool) -> Expression:
        expression = self.expression(0)
        self.want("as")
        kind = self.here[1].lower()
        self.at += 1
        if self.taken("("):
            sizes = [self.here[1]]
            self.at += 1
            while self.taken(","):
                sizes.append(self.here[1])
                self.at += 1
            self.want(")")
            kind += f"({','.join(sizes)})"
        self.want(")")
        return Cast(expression, kind, tried)

    def _case(self) -> Expression:
        operand = None if self.word == "when" else self.expression(0)
        branches = []
        while self.taken("when"):
            condition = self.expression(0)
            if operand is not None:
                condition = Call("=", (operand, condition))
            self.want("then")
            branches.append((condition, self.expression(0)))
        otherwise: Expression = self.expression(0) if self.taken("else") else Literal(None)
        self.want("end")
        if not branches:
            raise UserError("found CASE without WHEN, allowed: at least one")
        return Case(tuple(branches), otherwise)


def _unescaped(text: str) -> str:
    quote, inside = text[0], text[1:-1]
    inside = inside.replace(quote * 2, quote)
    return re.sub(r"\\(.)", lambda each: ESCAPED.get(each[1], each[1]), inside, flags=re.DOTALL)
