"""Comparison, logic, bits, choice and bounds: refs whose results are bools, or which choose among their arguments."""

from __future__ import annotations

from numbers import Number

import numpy as np

from ..core.dtype import BOOL, COMPLEX, FLOAT, bool_, finfo, int16, int32, int64
from ..core.op import Tensor, composite
from ..core.out import takes_out
from ..prims import algebra, bits, compare, convert, create, elementwise, parts, reduce, shape
from .arguments import require, require_fits, shown
from .families import BOTH, FIRST, ONE, alias, binary, method
from .promotion import array_of, broadcast_shapes, cast, expand_to, float_of, promoted, to_dtype

# -------------------------------------------------------------------------------------------------------- comparison

eq = binary("eq", compare.eq, "fl.eq(fl.asarray([1, 2]), 2) -> [False, True]", traits=FIRST)
ne = binary("ne", compare.ne, "fl.ne(fl.asarray([1, 2]), 2) -> [True, False]", traits=FIRST)
lt = binary("lt", compare.lt, "fl.lt(fl.asarray([1, 2]), 2) -> [True, False]", traits=FIRST)
le = binary("le", compare.le, "fl.le(fl.asarray([1, 2]), 1.5) -> [True, False]", traits=FIRST)
gt = binary("gt", compare.gt, "fl.gt(fl.asarray([1, 2]), 1) -> [False, True]", traits=FIRST)
ge = binary("ge", compare.ge, "fl.ge(fl.asarray([1, 2]), 2) -> [False, True]", traits=FIRST)
not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge
alias(not_equal=ne, less=lt, less_equal=le, greater=gt, greater_equal=ge)


@composite(method=True, reference=lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(x, y, rtol, atol, equal_nan), traits=BOTH)
def isclose(input: Tensor, other: Tensor, rtol: Number = 1e-05, atol: Number = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|, or both are equal (infinities), or both NaN with ``equal_nan``.

    >>> import functorch_lite as fl
    >>> fl.isclose(fl.asarray([1.0, 2.0]), fl.asarray([1.0, 2.1])).tolist()
    [True, False]
    """
    for argument, value in (("rtol", rtol), ("atol", atol)):
        require(value >= 0, "isclose", f"{argument} must be greater than or equal to zero, got {value}")
    x, y = promoted(input, other)
    close = compare.eq(x, y)
    if equal_nan and x.dtype.is_inexact:
        close = bits.bitwise_or(close, bits.bitwise_and(compare.ne(x, x), compare.ne(y, y)))
    if x.dtype.category == BOOL or not rtol and not atol:
        return close
    x, y = float_of(x), float_of(y)
    gap = elementwise.abs(elementwise.sub(x, y))
    allowed = elementwise.add(elementwise.scaled(elementwise.abs(y), rtol), algebra.full_like(gap, atol))
    return bits.bitwise_or(close, bits.bitwise_and(compare.isfinite(gap), compare.le(gap, allowed)))


@method
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as a Python bool (see `isclose`); under `jit` use ``isclose(...).all()``.

    >>> import functorch_lite as fl
    >>> fl.allclose(fl.asarray([1.0]), fl.asarray([1.0 + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and equal elements, as a Python bool.

    >>> import functorch_lite as fl
    >>> fl.equal(fl.asarray([1, 2]), fl.asarray([1, 2])), fl.equal(fl.asarray([1]), fl.asarray([1, 1]))
    (True, False)
    """
    x, y = array_of(input), array_of(other)
    return x.shape == y.shape and bool(eq(x, y).all())


# --------------------------------------------------------------------------------------- what an element is


def _test(name, doc, of_float, of_complex, otherwise, reference):
    """A question about each element: its answer for floats, for complex numbers (from both parts'), and for integers and bools."""

    def f(input: Tensor) -> Tensor:
        x = array_of(input)
        if x.dtype.category == COMPLEX:
            return of_complex(of_float(parts.real(x)), of_float(parts.imag(x)))
        return of_float(x) if x.dtype.category == FLOAT else create.full(x.shape, otherwise, bool_)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{doc} Elementwise, of any dtype; a complex number is asked by its parts."
    return composite(f, method=True, reference=reference)


def _is_infinite(x):
    return compare.eq(elementwise.abs(x), algebra.full_like(x, float("inf")))


isnan = _test("isnan", "Whether it is NaN.", lambda x: compare.ne(x, x), bits.bitwise_or, False, np.isnan)
isinf = _test("isinf", "Whether it is infinite.", _is_infinite, bits.bitwise_or, False, np.isinf)
isfinite = _test("isfinite", "Whether it is neither infinite nor NaN.", compare.isfinite, bits.bitwise_and, True, np.isfinite)


def _real_test(name, doc, f_of, reference):
    def f(input: Tensor) -> Tensor:
        x = array_of(input)
        require(not x.dtype.is_complex, name, f"complex numbers have no sign, got {x.aval}")
        return f_of(x)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{doc} Elementwise, of any real dtype."
    return composite(f, method=True, reference=reference)


def _is_infinity(sign):
    inf = float("inf") * sign
    return lambda x: compare.eq(x, algebra.full_like(x, inf)) if x.dtype.is_inexact else create.full(x.shape, False, bool_)


def has_sign(x):
    """Whether the sign bit is set, of -0.0 and NaN too."""
    if x.dtype.category == BOOL:
        return create.full(x.shape, False, bool_)
    if x.dtype.is_floating_point:
        x = convert.bitcast(x, {2: int16, 4: int32, 8: int64}[x.dtype.itemsize])
    return compare.lt(x, algebra.zeros(x.aval))


isposinf = _real_test("isposinf", "Whether it is inf.", _is_infinity(1), np.isposinf)
isneginf = _real_test("isneginf", "Whether it is -inf.", _is_infinity(-1), np.isneginf)
signbit = _real_test("signbit", "Whether the sign bit is set: of negative numbers, and of -0.0.", has_sign, np.signbit)


@composite(method=True, reference=np.isreal)
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0. Elementwise, of any dtype."""
    x = array_of(input)
    return (
        compare.eq(parts.imag(x), create.full(x.shape, 0, x.dtype.to_real())) if x.dtype.is_complex else create.full(x.shape, True, bool_)
    )


@composite(method=True, reference=lambda x, y: np.copysign(x, y), traits=FIRST)
def copysign(input: Tensor, other: Tensor) -> Tensor:
    """|input| with the sign of other (of -0.0 too); integers become float32. Its derivative at input = 0 is 0.

    >>> import functorch_lite as fl
    >>> fl.copysign(fl.asarray([1.0, -2.0]), fl.asarray([-0.0, 3.0])).tolist()
    [-1.0, 2.0]
    """
    x, y = promoted(input, other, inexact=True)
    size = elementwise.abs(x)
    return compare.select(has_sign(y), elementwise.neg(size), size)


@composite(method=True, reference=lambda x, v: np.heaviside(x, v).astype(x.dtype), traits={"arrays": ("input", "values")})
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where input is negative, 1 where it is positive, `values` where it is 0. Both must have one dtype; no derivative.

    >>> import functorch_lite as fl
    >>> fl.heaviside(fl.asarray([-1.0, 0.0, 2.0]), fl.asarray(0.5)).tolist()
    [0.0, 0.5, 1.0]
    """
    x, v = array_of(input), array_of(values)
    ok = x.dtype is v.dtype and not x.dtype.is_complex
    require(ok, "heaviside", f"expected two arrays of one real dtype, got {shown(input, values)}; convert with .to(dtype)")
    x, v = promoted(x, v)
    zero = algebra.zeros(x.aval)
    return compare.select(compare.eq(x, zero), create.detach(v), to_dtype(compare.gt(x, zero), x.dtype))


# -------------------------------------------------------------------------------------------------------------- logic


def truth(x):
    """Whether each element is not 0 (NaN is not)."""
    return to_dtype(array_of(x), bool_)


def _logical(name, prim, reference, doc, example):
    def f(input: Tensor, other: Tensor) -> Tensor:
        x, y = truth(input), truth(other)
        shape = broadcast_shapes(x.shape, y.shape)
        return prim(expand_to(x, shape), expand_to(y, shape))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"Whether {doc} not 0. Elementwise, broadcast, of any dtypes.\n\n>>> import functorch_lite as fl\n>>> {example}\n"
    return composite(f, method=True, reference=reference, traits=BOTH)


_AB = "(fl.asarray([0, 1, 2]), fl.asarray([3, 0, 1])).tolist()\n"
logical_and = _logical("logical_and", bits.bitwise_and, np.logical_and, "both are", f"fl.logical_and{_AB}[False, False, True]")
logical_or = _logical("logical_or", bits.bitwise_or, np.logical_or, "one of both is", f"fl.logical_or{_AB}[True, True, True]")
logical_xor = _logical("logical_xor", bits.bitwise_xor, np.logical_xor, "just one of both is", f"fl.logical_xor{_AB}[True, True, False]")


@composite(method=True, reference=np.logical_not)
def logical_not(input: Tensor) -> Tensor:
    """Whether it is 0. Elementwise, of any dtype.

    >>> import functorch_lite as fl
    >>> fl.logical_not(fl.asarray([0.0, 2.0])).tolist()
    [True, False]
    """
    return bits.bitwise_not(truth(input))


bitwise_and = binary("bitwise_and", bits.bitwise_and, "fl.bitwise_and(fl.asarray([6, 3]), 2) -> [2, 2]", traits=ONE)
bitwise_or = binary("bitwise_or", bits.bitwise_or, "fl.bitwise_or(fl.asarray([6, 3]), 1) -> [7, 3]", traits=ONE)
bitwise_xor = binary("bitwise_xor", bits.bitwise_xor, "fl.bitwise_xor(fl.asarray([6, 3]), 1) -> [7, 2]", traits=ONE)
bitwise_left_shift = binary("bitwise_left_shift", bits.shift_left, "fl.bitwise_left_shift(fl.asarray([1, 3]), 2) -> [4, 12]", traits=ONE)


@composite(method=True, reference=np.invert)
def bitwise_not(input: Tensor) -> Tensor:
    """The bits of input turned round, of integer dtype; of bools, not. Raises TypeError for floats.

    >>> import functorch_lite as fl
    >>> fl.bitwise_not(fl.asarray([0, 5])).tolist()
    [-1, -6]
    """
    return bits.bitwise_not(array_of(input))


def _shift_right(x, y):
    return (bits.shift_right_arithmetic if x.dtype.is_signed else bits.shift_right_logical)(x, y)


@composite(method=True, reference=np.right_shift, traits=ONE)
def bitwise_right_shift(input: Tensor, other: Tensor) -> Tensor:
    """The bits of input moved down by other, promoted and broadcast, of integer dtype; the sign is kept.

    >>> import functorch_lite as fl
    >>> fl.bitwise_right_shift(fl.asarray([8, -8]), 2).tolist()
    [2, -2]
    """
    return _shift_right(*promoted(input, other))


# ------------------------------------------------------------------------------------------------------------- choice


@composite(reference=np.where)
def where(condition: Tensor, input: Tensor, other: Tensor) -> Tensor:
    """input where condition holds, else other; the latter two are promoted, and all are broadcast.

    The derivative of the choice that is not taken never counts, whatever it is. `condition` must be bool: RuntimeError.

    >>> import functorch_lite as fl
    >>> x = fl.asarray([-1.0, 2.0])
    >>> fl.where(x > 0, x, 0).tolist()
    [0.0, 2.0]
    """
    mask = array_of(condition)
    require(
        mask.dtype.category == BOOL, "where", f"condition must be a bool Array, got {mask.aval}; compare it, for example {'condition != 0'}"
    )
    x, y = promoted(input, other)
    target = broadcast_shapes(mask.shape, x.shape)
    return compare.select(expand_to(mask, target), expand_to(x, target), expand_to(y, target))


@method(name="where")
def _where_method(self, condition: Tensor, other: Tensor) -> Tensor:
    """self where condition holds, else other."""
    return where(condition, self, other)


@composite(method=True, reference=lambda x, mask, value: np.where(mask, np.asarray(value, x.dtype), x))
def masked_fill(input: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """Input with `value`, a number or 0-dim Array, where the bool `mask` holds; both broadcast. The dtype is that of input.

    >>> import functorch_lite as fl
    >>> fl.masked_fill(fl.asarray([1.0, 2.0]), fl.asarray([False, True]), float("-inf")).tolist()
    [1.0, -inf]
    """
    x, m = array_of(input), array_of(mask)
    require(m.dtype.category == BOOL, "masked_fill", f"mask must be a bool Array, got {m.aval}")
    v = array_of(value)
    require(v.ndim == 0, "masked_fill", f"value must be a number or a 0-dim Array, got {v.aval}; use where(mask, value, input)")
    require_fits("masked_fill", value, x)
    target = broadcast_shapes(x.shape, m.shape)
    return compare.select(expand_to(m, target), cast(value, x.dtype, target), expand_to(x, target))


@composite(
    method=True, reference=lambda x, nan=0.0, posinf=None, neginf=None: np.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf)
)
def nan_to_num(input: Tensor, nan: Number = 0.0, posinf: Number = None, neginf: Number = None) -> Tensor:
    """Input with numbers in the place of NaN, inf (the largest number, unless given) and -inf (the smallest).

    >>> import functorch_lite as fl
    >>> fl.nan_to_num(fl.asarray([float("nan"), float("-inf"), 1.0]), neginf=-9.0).tolist()
    [0.0, -9.0, 1.0]
    """
    x = array_of(input)
    if not x.dtype.is_inexact:
        return x
    if x.dtype.is_complex:
        return parts.complex(*[nan_to_num(part(x), nan, posinf, neginf) for part in (parts.real, parts.imag)])
    limits = finfo(x.dtype)
    inf = float("inf")
    given = ((inf, limits.max if posinf is None else posinf), (-inf, limits.min if neginf is None else neginf))
    out = compare.select(compare.ne(x, x), algebra.full_like(x, 0.0 if nan is None else nan), x)
    for what, number in given:
        out = compare.select(compare.eq(x, algebra.full_like(x, what)), algebra.full_like(x, float(number)), out)
    return out


# ------------------------------------------------------------------------------------------------------------- bounds

maximum = binary("maximum", compare.maximum, "fl.maximum(fl.asarray([1, 5]), 3) -> [3, 5]", traits=BOTH)
minimum = binary("minimum", compare.minimum, "fl.minimum(fl.asarray([1, 5]), 3) -> [1, 3]", traits=BOTH)


def _ignoring_nan(name, before, reference, which):
    def f(input: Tensor, other: Tensor) -> Tensor:
        x, y = promoted(input, other)
        first = before(x, y)
        if x.dtype.is_inexact:
            first = bits.bitwise_or(first, compare.ne(y, y))
        return compare.select(first, x, y)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {which} of both, promoted and broadcast; where only one is NaN, the other. At a tie the derivative belongs to input.\n\n"
        f">>> import functorch_lite as fl\n>>> fl.{name}(fl.asarray([1.0]), float('nan')).tolist()\n[1.0]\n"
    )
    return composite(f, method=True, reference=reference, traits=BOTH)


fmax = _ignoring_nan("fmax", compare.ge, np.fmax, "larger")
fmin = _ignoring_nan("fmin", compare.le, np.fmin, "smaller")


def _clamp_reference(x, min=None, max=None):
    return np.clip(x, min, max)


@composite(method=True, reference=_clamp_reference, traits=FIRST)
def clamp(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """Input moved into [min, max]; either bound may be None. All are promoted and broadcast. Where min > max the result is max.

    The derivative in input is 1 at the bounds, and 0 beyond them.

    >>> import functorch_lite as fl
    >>> fl.clamp(fl.asarray([-2, 0, 5]), min=-1, max=3).tolist()
    [-1, 0, 3]
    """
    require(min is not None or max is not None, "clamp", "at least one of min and max must be given")
    given = [x for x in (min, max) if x is not None]
    x, *bounds = promoted(input, *given)
    if len(bounds) == 2:
        return compare.clamp(x, *bounds)
    (bound,) = bounds
    beyond = (compare.lt if max is None else compare.gt)(x, bound)
    if x.dtype.is_inexact:
        beyond = bits.bitwise_or(beyond, compare.ne(bound, bound))
    return compare.select(beyond, bound, x)


clip = clamp


@takes_out
@method
def clamp_min(input: Tensor, min: Tensor) -> Tensor:
    """`clamp` from below."""
    return clamp(input, min)


@takes_out
@method
def clamp_max(input: Tensor, max: Tensor) -> Tensor:
    """`clamp` from above."""
    return clamp(input, None, max)


alias(clip=clamp)


@composite(reference=np.isin)
def isin(elements: Tensor, test_elements: Tensor, *, invert: bool = False) -> Tensor:
    """Whether each element is among `test_elements` (with ``invert``: is not): every pair is compared.

    >>> import functorch_lite as fl
    >>> fl.isin(fl.asarray([1, 2, 3]), fl.asarray([2, 4])).tolist()
    [False, True, False]
    """
    x, y = array_of(elements), array_of(test_elements)
    found = eq(shape.reshape(x, (*x.shape, 1)), shape.reshape(y, (y.aval.size,)))
    found = reduce.reduce_any(found, (x.ndim,))
    return bits.bitwise_not(found) if invert else found


__all__ = (
    "allclose bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor clamp clamp_max clamp_min clip "
    "copysign eq equal fmax fmin ge greater greater_equal gt heaviside isclose isfinite isin isinf isnan isneginf isposinf isreal le "
    "less less_equal logical_and logical_not logical_or logical_xor lt masked_fill maximum minimum nan_to_num ne not_equal signbit "
    "where"
).split()
