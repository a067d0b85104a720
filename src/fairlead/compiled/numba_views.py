"""Arrays in compiled code without counting the references to them, and without handing them on.

Numba counts a reference wherever an array is handed to a function, and hands on each array as seven
words. In a kernel of many small functions that is most of the time. Nothing here has a counter, so
none of it may outlive the call that it was made in.
"""

from __future__ import annotations

import operator
from typing import Any, Final

from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.extending import intrinsic, overload, register_model

kinds: Final[Any] = types
build: Final[Any] = cgutils
CELLS: Final = kinds.CPointer(types.int64)


class View(types.Type):
    """Cells and their number, of which nothing else is to be known."""

    def __init__(self) -> None:
        """All are of this type."""
        super().__init__("View")


VIEW: Final = View()


@register_model(View)
class _ViewModel(models.StructModel):
    def __init__(self, manager: Any, kind: View) -> None:  # noqa: ANN401 - Numba's
        super().__init__(manager, kind, [("cells", CELLS), ("size", types.intp)])  # type: ignore[no-untyped-call]


def _cells_of(_: Any, array: Any) -> Any:  # noqa: ANN401 - Numba's

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401
        return context.make_array(signature.args[0])(context, builder, values[0]).data

    return kinds.CPointer(array.dtype)(array), generate


def _borrowed(_: Any, array: Any) -> Any:  # noqa: ANN401

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401
        return _bare(context, builder, signature.args[0], values[0])

    return array(array), generate


def _lent(_: Any, state: Any) -> Any:  # noqa: ANN401

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:  # noqa: ANN401
        every = [
            _bare(context, builder, kind, builder.extract_value(values[0], place))
            for place, kind in enumerate(state)
        ]
        return build.alloca_once_value(builder, context.make_tuple(builder, state, every))

    return kinds.CPointer(state)(state), generate


def _state_of(_: Any, lent: Any) -> Any:  # noqa: ANN401

    def generate(_: Any, builder: Any, __: Any, values: Any) -> Any:  # noqa: ANN401
        return builder.load(values[0])

    return lent.dtype(lent), generate


def _views_of(_: Any, lent: Any) -> Any:  # noqa: ANN401
    state = lent.dtype
    views = kinds.NamedUniTuple(VIEW, len(state), state.instance_class)

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:  # noqa: ANN401
        every = []
        for place, kind in enumerate(state):
            field = builder.load(build.gep_inbounds(builder, values[0], 0, place))
            array = context.make_array(kind)(context, builder, field)
            view = build.create_struct_proxy(VIEW)(context, builder)
            view.cells, view.size = array.data, array.nitems
            every.append(view._getvalue())  # noqa: SLF001 - as in Numba's own
        return context.make_tuple(builder, views, every)

    return views(lent), generate


def _bare(context: Any, builder: Any, kind: Any, value: Any) -> Any:  # noqa: ANN401
    array = context.make_array(kind)(context, builder, value)
    for field in ("meminfo", "parent"):
        setattr(array, field, getattr(array, field).type(None))
    return array._getvalue()  # noqa: SLF001


def _part_of_view(name: str, kind: Any) -> Any:  # noqa: ANN401

    def part(_: Any, view: Any) -> Any:  # noqa: ANN401

        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:  # noqa: ANN401
            return getattr(build.create_struct_proxy(VIEW)(context, builder, values[0]), name)

        return kind(view), generate

    return intrinsic(part)


_cells_in = _part_of_view("cells", CELLS)
_size_of = _part_of_view("size", types.intp)


@overload(operator.getitem)
def _getitem(view: Any, place: Any) -> Any:  # noqa: ANN401, ARG001
    def get(view: Any, place: Any) -> Any:  # noqa: ANN401
        return _cells_in(view)[place]

    return get if isinstance(view, View) else None


@overload(operator.setitem)
def _setitem(view: Any, place: Any, value: Any) -> Any:  # noqa: ANN401, ARG001
    def put(view: Any, place: Any, value: Any) -> None:  # noqa: ANN401
        _cells_in(view)[place] = value

    return put if isinstance(view, View) else None


@overload(len)
def _len(view: Any) -> Any:  # noqa: ANN401
    def size(view: Any) -> Any:  # noqa: ANN401
        return _size_of(view)

    return size if isinstance(view, View) else None


cells_of: Any = intrinsic(_cells_of)
"""The cells of a one-dimensional array, to be read and written by place; without a length."""
borrowed: Any = intrinsic(_borrowed)
"""The same array, without counting a reference to it."""
lent: Any = intrinsic(_lent)
"""A tuple of arrays, to be handed on as one word."""
state_of: Any = intrinsic(_state_of)
"""What was lent."""
views_of: Any = intrinsic(_views_of)
"""What was lent, its arrays as views: two words each, and no counter anywhere."""
