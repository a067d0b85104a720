"""Arrays in compiled code without counting the references to them.

Numba counts a reference wherever an array is handed to a function, which in a kernel of many small
functions is most of the time. Nothing here has a counter, so none of it may outlive the call that
it was made in.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core.extending import intrinsic


def _cells_of(_: Any, array: Any) -> Any:  # noqa: ANN401 - Numba's
    kind: Any = types.CPointer(array.dtype)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401
        return context.make_array(signature.args[0])(context, builder, values[0]).data

    return kind(array), generate


def _borrowed(_: Any, value: Any) -> Any:  # noqa: ANN401

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401
        return _bare(context, builder, signature.args[0], values[0])

    return value(value), generate


cells_of: Any = intrinsic(_cells_of)
"""The cells of a one-dimensional array, to be read and written by place; without a length."""
borrowed: Any = intrinsic(_borrowed)
"""The same array, or tuple of arrays."""


def _bare(context: Any, builder: Any, kind: Any, value: Any) -> Any:  # noqa: ANN401
    one: Any = types.Array
    several: Any = types.BaseTuple
    if isinstance(kind, one):
        array = context.make_array(kind)(context, builder, value)
        for field in ("meminfo", "parent"):
            setattr(array, field, getattr(array, field).type(None))
        return array._getvalue()  # noqa: SLF001 - as in Numba's own
    if isinstance(kind, several):
        every = [
            _bare(context, builder, each, builder.extract_value(value, place))
            for place, each in enumerate(kind)
        ]
        return context.make_tuple(builder, kind, every)
    return value
