"""einsum: parsing, and a product of pairs in the order that opt_einsum finds."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import opt_einsum

from ..core.op import Tensor, composite
from ..prims import shape
from .arguments import require, require_one_dtype
from .contract import arranged, contracted, size_of_labels, summed, without_ones

_NAME = "einsum"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@lru_cache(1024)
def _parsed(equation: str, ndims: tuple[int, ...]):
    """The labels of each operand and of the output. A label is a letter, or a negative int for a dimension of '...'."""
    text = equation.replace(" ", "")
    wrong = re.sub(r"\.\.\.|->|[a-zA-Z,]", "", text)
    require(not wrong, _NAME, f"subscripts must be letters, '...' , ',' and one '->', got {wrong[:3]!r} in {equation!r}")
    terms, arrow, result = text.partition("->")
    require("->" not in result and "," not in result, _NAME, f"expected one output behind '->', got {equation!r}")
    terms = terms.split(",")
    require(len(terms) == len(ndims), _NAME, f"{equation!r} has subscripts for {len(terms)} operands, got {len(ndims)}")
    labels = [_labelled(term, n, f"operand {i}", equation) for i, (term, n) in enumerate(zip(terms, ndims))]
    wide = max((-n for each in labels for n in each if n.__class__ is int), default=0)
    spread = list(range(-wide, 0))
    used = [n for each in labels for n in each if n.__class__ is str]
    if not arrow:
        return labels, spread + sorted(n for n in set(used) if used.count(n) == 1)
    require(result.count("...") < 2, _NAME, f"'...' appears more than once in the output of {equation!r}")
    before, dots, after = result.partition("...")
    for n in before + after:
        require(n in used, _NAME, f"the output subscript {n} of {equation!r} appears in no operand")
        require((before + after).count(n) == 1, _NAME, f"the output subscript {n} appears more than once in {equation!r}")
    return labels, [*before, *(spread if dots else []), *after]


def _labelled(term: str, ndim: int, who: str, equation: str) -> list:
    require(term.count("...") < 2, _NAME, f"'...' appears more than once for {who} of {equation!r}")
    before, dots, after = term.partition("...")
    extra = ndim - len(before) - len(after)
    fits = extra >= 0 if dots else extra == 0
    require(
        fits,
        _NAME,
        f"{equation!r} has {len(before + after)} subscripts for {who}, which has {ndim} dimensions{'' if dots else ' (and no ...)'}",
    )
    return [*before, *range(-extra, 0), *after]


def _without_repeats(x, labels):
    """x on its diagonal along dimensions that share a label."""
    for n in dict.fromkeys(labels):
        while labels.count(n) > 1:
            i = labels.index(n)
            j = labels.index(n, i + 1)
            require(x.shape[i] == x.shape[j], _NAME, f"the subscript {n} is repeated for sizes {x.shape[i]} and {x.shape[j]} of {x.aval}")
            x = _diagonal(x, i, j)
            labels = [m for d, m in enumerate(labels) if d not in (i, j)] + [n]
    return x, labels


def _diagonal(x, i: int, j: int):
    """The diagonal of two dimensions of one size, as the last: flat, it is every (n + 1)-th element, so the first column of n + 1."""
    n = x.shape[i]
    lead = [d for d in range(x.ndim) if d not in (i, j)]
    sizes = tuple([x.shape[d] for d in lead])
    if n == 0:
        return shape.reshape(x, (*sizes, 0))
    x = shape.reshape(shape.permute(x, (*lead, i, j)), (*sizes, n * n))
    none = (0,) * len(lead)
    return shape.slice_(x, (*none, 0), (*sizes, n * n), (*[1] * len(lead), n + 1))


@lru_cache(1024)
def _path(labels: tuple, shapes: tuple, out: tuple):
    """Which operands to multiply next, as positions in the list that is left."""
    names = {n: opt_einsum.get_symbol(i) for i, n in enumerate(dict.fromkeys(n for each in labels for n in each))}
    text = ",".join("".join(names[n] for n in each) for each in labels) + "->" + "".join(names[n] for n in out)
    return opt_einsum.contract_path(text, *shapes, shapes=True)[0]


def _reference(equation, *operands):
    return np.einsum(equation, *operands)


@composite(reference=_reference, name=_NAME)
def _einsum(equation: str, *operands: Tensor) -> Tensor:
    """See `einsum`."""
    require(len(operands) > 0, _NAME, "expected at least one operand")
    require_one_dtype(_NAME, **{f"operands[{i}]": x for i, x in enumerate(operands)})
    labels, out = _parsed(equation, tuple([x.ndim for x in operands]))
    terms = [_without_repeats(x, each) for x, each in zip(operands, labels)]
    sizes = size_of_labels(_NAME, terms)
    terms = [without_ones(x, each, sizes) for x, each in terms]
    shapes, names = tuple([x.shape for x, _ in terms]), tuple([tuple(each) for _, each in terms])
    for pair in _path(names, shapes, tuple(out)) if len(terms) > 2 else [range(len(terms))]:
        chosen = [terms.pop(i) for i in sorted(pair, reverse=True)][::-1]
        needed = {n for _, each in terms for n in each} | set(out)
        (x, xs), *rest = chosen
        for k, (y, ys) in enumerate(rest):
            later = {n for _, each in rest[k + 1 :] for n in each} | needed
            kept = list(out) if not terms and k == len(rest) - 1 else [n for n in dict.fromkeys([*xs, *ys]) if n in later]
            x, xs = contracted(x, xs, y, ys, kept), kept
        terms.append((x, xs))
    x, xs = summed(*terms[0], set(out))
    return arranged(x, xs, out)


def einsum(equation, *operands):
    """The sum of products that the equation spells, in PyTorch's form of Einstein's convention.

    ``"ij,jk->ik"`` is a matrix product: dimensions of one letter run together, and letters that the output lacks are summed.
    A letter twice in one operand takes a diagonal, ``...`` stands for any dimensions, which broadcast, and without ``->`` the
    output has the dimensions of ``...``, then the letters that appear once, sorted. The operands, of one dtype, may come as one
    list; ``einsum(x, [0, 1], y, [1, 2], [0, 2])`` spells the letters as numbers. More than two operands are multiplied in the
    order that opt_einsum (Smith, Gray: opt_einsum, JOSS 2018) finds. RuntimeError for an equation that does not fit.

    >>> import functorch_lite as fl
    >>> fl.einsum("ij,kj->ik", fl.ones(2, 3), fl.ones(4, 3)).shape, fl.einsum("ii", fl.asarray([[1, 2], [3, 4]])).item()
    ((2, 4), 5)
    """
    if not isinstance(equation, str):
        equation, operands = _spelled((equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return _einsum(equation, *operands)


einsum.op = _einsum.op


def _spelled(parts):
    """An equation of letters and the operands, of alternating operands and lists of numbers."""
    operands, lists = list(parts[0 : len(parts) // 2 * 2 : 2]), list(parts[1::2])

    def term(subscripts):
        ok = isinstance(subscripts, (list, tuple)) and all(s is Ellipsis or isinstance(s, int) and 0 <= s < 52 for s in subscripts)
        require(
            ok,
            _NAME,
            f"expected an equation, or operands with lists of subscripts (ints from 0 to 51 and ...), got {subscripts!r}",
            TypeError,
        )
        return "".join("..." if s is Ellipsis else _LETTERS[s] for s in subscripts)

    equation = ",".join(map(term, lists))
    return equation + "->" + term(parts[-1]) if len(parts) % 2 else equation, operands


__all__ = ["einsum"]
