"""Changes of Python: Cosmic Ray's operators where they change what code does, and left-out effects.

No change is made in annotations, which nobody runs, nor in what only a type checker reads.
"""

import ast
from collections.abc import Iterator
from functools import cache
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from .change import Change, differing

COMPARISONS = ("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_Gt", "Gt_Lt")
COMPARISONS += ("LtE_GtE", "GtE_LtE", "Is_IsNot", "IsNot_Is")
ARITHMETIC = ("Add_Sub", "Sub_Add", "Mul_FloorDiv", "FloorDiv_Mul", "Mod_FloorDiv", "BitOr_BitAnd")
ARITHMETIC += ("BitAnd_BitOr", "LShift_RShift", "RShift_LShift", "Div_Mul", "Pow_Mul")
OTHERS = ("AddNot", "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub")
OTHERS += ("ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue")
OTHERS += ("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer")
OTHERS += ("ZeroIterationForLoop", "RemoveDecorator")
OPERATORS = (
    *(f"ReplaceComparisonOperator_{name}" for name in COMPARISONS),
    *(f"ReplaceBinaryOperator_{name}" for name in ARITHMETIC),
    *OTHERS,
)
LEFT_OUT = "left out"

Place = tuple[int, str, int]
"""A line, the operator, and which of the operator's places it is."""


def places(text: str) -> list[Place]:
    """All that can be changed."""
    tree = ast.parse(text)
    unread = {line for first, last in _unread(tree) for line in range(first, last + 1)}
    nodes = list(ast_nodes(get_ast(text)))
    found: list[Place] = []
    for name in OPERATORS:
        operator = _operator(name)
        spots = [spot for node in nodes for spot in operator.mutation_positions(node)]
        found += [(spot[0][0], name, k) for k, spot in enumerate(spots)]
    found += [(node.lineno, LEFT_OUT, k) for k, node in enumerate(_effects(tree))]
    return sorted(place for place in found if place[0] not in unread)


def changed(path: str, text: str, place: Place) -> Change | None:
    """The change at a place; None if it makes no other program."""
    line, name, number = place
    if name == LEFT_OUT:
        after = _without(text, _effects(ast.parse(text))[number])
    else:
        after = mutate_code(text, _operator(name), number)
    try:
        same = after is None or ast.dump(ast.parse(after)) == ast.dump(ast.parse(text))
    except SyntaxError:
        return None
    if same:
        return None
    _, old, new = differing(text, after)
    return Change(path, line, name, old, new, after)


@cache
def _operator(name: str) -> Any:
    return get_operator(f"core/{name}")()


def _effects(tree: ast.AST) -> list[ast.stmt]:
    """Statements that do something and leave the program whole when they are left out."""
    found = []
    for node in ast.walk(tree):
        called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
        kept = isinstance(node, ast.Assign) and not isinstance(
            node.targets[0], ast.Name | ast.Tuple
        )
        if called or kept or isinstance(node, ast.AugAssign):
            found.append(node)
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _without(text: str, statement: ast.stmt) -> str:
    lines = text.splitlines(keepends=True)
    indent = " " * statement.col_offset
    last = statement.end_lineno or statement.lineno
    lines[statement.lineno - 1 : last] = [f"{indent}pass\n"]
    return "".join(lines)


def _unread(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """First and last lines of what does nothing: annotations, heads of classes, typing's blocks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _signature(node)
        elif isinstance(node, ast.ClassDef):
            yield node.lineno, max(node.lineno, node.body[0].lineno - 1)
        bare = isinstance(node, ast.AnnAssign) and node.value is None
        if bare or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            yield node.lineno, node.end_lineno or node.lineno


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, int]]:
    """The lines of a signature, unless a default stands there; and decorators of overloads."""
    arguments = node.args
    if not arguments.defaults and not any(arguments.kw_defaults):
        yield node.lineno, max(node.lineno, node.body[0].lineno - 1)
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Name) or decorator.id in {"overload", "override"}:
            yield decorator.lineno, decorator.end_lineno or decorator.lineno
