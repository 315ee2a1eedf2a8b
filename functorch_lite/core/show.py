"""How an Array is shown: its values where they are few or can be summarized, and always its dtype."""

from __future__ import annotations

import numpy as np

from .aval import Aval

_MANY = 1000  # elements beyond which only the corners are shown
_OPTIONS = {"separator": ", ", "precision": 4, "threshold": _MANY, "edgeitems": 3, "floatmode": "maxprec"}


def array(a: Aval, data: np.ndarray | None) -> str:
    """The text of an Array; without data (it was donated) its shape and dtype.

    >>> from functorch_lite.core.aval import aval
    >>> from functorch_lite.core.dtype import float32
    >>> print(array(aval((2,), float32), np.array([1, 0.5], np.float32)))
    Array([1. , 0.5], dtype=float32)
    >>> print(array(aval((2,), float32), None))
    Array(donated, shape=(2,), dtype=float32)
    """
    shape = f", shape={a.shape}" if data is None or a.size == 0 and a.shape != (0,) or a.size > _MANY else ""
    head, tail = "Array(", f"{shape}, dtype={a.dtype})"
    if data is None:
        return f"{head}donated{tail}"
    if a.size == 0:
        return f"{head}[]{tail}"
    data = _plain(data)
    text = np.array2string(data, prefix=head, suffix=tail, max_line_width=100, **_OPTIONS)
    if len(text.rpartition("\n")[2]) + len(head) + len(tail) > 100:
        return f"{head}{text},\n{' ' * len(head)}{tail.removeprefix(', ')}"
    return head + text + tail


def _plain(data: np.ndarray) -> np.ndarray:
    """What NumPy can print: bfloat16 as float32."""
    return data.astype(np.float32) if data.dtype.kind == "V" or data.dtype.name == "bfloat16" else data


def tensor(a: Aval, data: np.ndarray, more: str = "") -> str:
    """The text of a Tensor, as PyTorch prints it.

    >>> from functorch_lite.core.aval import aval
    >>> from functorch_lite.core.dtype import float32
    >>> print(tensor(aval((2,), float32), np.array([1, 0.5], np.float32)))
    tensor([1.0000, 0.5000])
    >>> print(tensor(aval((2,), float32), np.array([1, 2], np.float32), ", requires_grad=True"))
    tensor([1., 2.], requires_grad=True)
    """
    usual = a.dtype.name in ("float32", "int64", "bool", "complex64")
    tail = ("" if usual else f", dtype=torch.{a.dtype}") + more + ")"
    if a.size == 0:
        return f"tensor([]{'' if a.shape == (0,) else f', size={a.shape}'}{tail}"
    data = _plain(data)
    options = dict(_OPTIONS, prefix="tensor(", suffix=tail, max_line_width=100)
    if data.dtype.kind == "f":
        options["formatter"] = {"float_kind": _float_format(data)}
    return f"tensor({np.array2string(data, **options)}{tail}"


def _float_format(data: np.ndarray):
    """One form for all numbers: whole ones as "2.", others with four digits, in powers of ten where the sizes differ much."""
    finite = np.abs(data[np.isfinite(data)].astype(np.float64))
    whole = bool((finite == np.floor(finite)).all())
    some = finite[finite > 0]
    wide = some.size and (some.max() / some.min() > 1e3 and not whole or some.max() >= 1e8 or some.min() < 1e-4)
    form = "{:.4e}" if wide else "{:.0f}." if whole else "{:.4f}"
    texts = {x: form.format(x) if np.isfinite(x) else str(float(x)) for x in data.ravel().tolist()} if data.size <= _MANY else {}
    width = max((len(t) for t in texts.values()), default=0) if data.ndim else 0
    return lambda x: (form.format(x) if np.isfinite(x) else str(float(x))).rjust(width)
