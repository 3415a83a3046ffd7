# SPDX-License-Identifier: Apache-2.0
"""Python's operators on anything that stands for an expression (Expr, Axis, Complex, Pair)."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from axisfold.ir.expr import Expr


class Operators:
    """Mixin: each operator builds the node of the same meaning, ``//`` and ``%`` floor."""

    __slots__ = ()
    # NumPy scalars leave `np.float32(2) * x` to this class.
    __array_ufunc__ = None

    def __axisfold_expr__(self) -> Expr:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return _binary("floormod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _binary("floormod", other, self)

    def __and__(self, other: Any) -> Any:
        return _binary("bitand", self, other)

    def __or__(self, other: Any) -> Any:
        return _binary("bitor", self, other)

    def __xor__(self, other: Any) -> Any:
        return _binary("bitxor", self, other)

    def __rand__(self, other: Any) -> Any:
        return _binary("bitand", other, self)

    def __ror__(self, other: Any) -> Any:
        return _binary("bitor", other, self)

    def __rxor__(self, other: Any) -> Any:
        return _binary("bitxor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return _binary("shl", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _binary("shl", other, self)

    def __rshift__(self, other: Any) -> Any:
        return _binary("shr", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _binary("shr", other, self)

    def __neg__(self) -> Any:
        from axisfold.ir import build

        return build.negate(self.__axisfold_expr__())

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        from axisfold.ir import build

        return build.call("abs", self.__axisfold_expr__())

    def __pow__(self, other: Any) -> Any:
        from axisfold.ir import build

        return build.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        from axisfold.ir import build

        return build.power(other, self)

    def __invert__(self) -> Any:
        from axisfold.ir import build

        return build.logical_not(self.__axisfold_expr__())

    def __lt__(self, other: Any) -> Any:
        return _compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return _compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return _compare("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return _compare("ge", self, other)

    def equal(self, other: Any) -> Any:
        """Build ``self == other``, element by element."""
        return _compare("eq", self, other)

    def not_equal(self, other: Any) -> Any:
        """Build ``self != other``, element by element."""
        return _compare("ne", self, other)

    def astype(self, dtype: Any) -> Any:
        """Build the conversion to ``dtype``."""
        return _build().cast(dtype, self.__axisfold_expr__())


@cache
def _build() -> ModuleType:
    """Return what makes nodes: thousands of times, and an import takes as long as a node."""
    from axisfold.ir import build

    return build


def _binary(op: Any, a: Any, b: Any) -> Any:
    return _build().operator(op, a, b)


def _compare(op: Any, a: Any, b: Any) -> Any:
    return _build().comparison(op, a, b)
