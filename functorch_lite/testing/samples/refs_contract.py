"""Samples of the refs that contract: every rank, broadcasting, empty sums, and equations of einsum."""

from __future__ import annotations

from ...core.dtype import int32
from ...refs import contract, equation
from ..table import COMPLEXES, INEXACT, NUMBERS, REAL, Sample, array, row


def shaped(*cases):
    """Samples of arrays of these shapes; a case is a tuple of shapes, and may end in a dict of keyword arguments."""

    def sampler(rng, dtype):
        for case in cases:
            *shapes, kwargs = case if isinstance(case[-1], dict) else (*case, {})
            yield Sample(*[array(rng, s, dtype) for s in shapes], **kwargs)

    return sampler


MATMULS = (
    ((2, 3), (3, 2)),
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 1, 2, 3), (3, 3, 2)),
    ((2, 3), (2, 3, 2)),
    ((3,), (2, 3, 2)),
    ((2, 2, 3), (3,)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 2)),
)
row(contract.matmul, shaped(*MATMULS), (*NUMBERS, int32))
row(contract.mm, shaped(((2, 3), (3, 2)), ((2, 0), (0, 2))), NUMBERS)
row(contract.bmm, shaped(((2, 2, 3), (2, 3, 2)), ((0, 2, 3), (0, 3, 2))), INEXACT)
row(contract.mv, shaped(((2, 3), (3,)), ((0, 3), (3,))), INEXACT)
row(contract.dot, shaped(((3,), (3,)), ((0,), (0,))), NUMBERS)
row(contract.vdot, shaped(((3,), (3,))), (*REAL, *COMPLEXES))
row(contract.inner, shaped(((3,), (3,)), ((2, 3), (2, 2, 3)), ((), (2, 3)), ((2, 3), ())), INEXACT)
row(contract.outer, shaped(((3,), (2,)), ((0,), (2,))), NUMBERS)
row(contract.kron, shaped(((2, 3), (3, 2)), ((3,), (2, 2)), ((), (2,)), ((0, 2), (2, 3))), INEXACT)
row(
    contract.tensordot,
    shaped(
        ((2, 3), (3, 2), {"dims": 1}),
        ((2, 3, 2), (3, 2, 2)),
        ((2, 3), (2,), {"dims": 0}),
        ((2, 3, 2), (2, 2, 3), {"dims": ((1, 0), (-1, 0))}),
    ),
    INEXACT,
)

SCALES = {"beta": 0.5, "alpha": 2.0}
ADDED = {
    contract.addmm: (((2,), (2, 3), (3, 2)), ((2, 2), (2, 3), (3, 2), SCALES)),
    contract.baddbmm: (((2, 2), (2, 2, 3), (2, 3, 2)), ((), (2, 2, 3), (2, 3, 2), SCALES)),
    contract.addbmm: (((2, 2), (2, 2, 3), (2, 3, 2)), ((2,), (2, 2, 3), (2, 3, 2), SCALES)),
    contract.addmv: (((2,), (2, 3), (3,)), ((), (2, 3), (3,), SCALES)),
    contract.addr: (((2, 3), (2,), (3,)), ((3,), (2,), (3,), SCALES)),
}
for function, cases in ADDED.items():
    row(function, shaped(*cases))
row(contract.linear, shaped(((2, 3), (2, 3), (2,)), ((2, 2, 3), (2, 3)), ((3,), (2, 3), (2,)), ((2, 3), (3,)), ((0, 3), (2, 3))), INEXACT)
row(contract.bilinear, shaped(((2, 3), (2, 2), (2, 3, 2), (2,)), ((3,), (2,), (2, 3, 2))))

EQUATIONS = (
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("ij,jk", (2, 3), (3, 2)),
    ("ii", (3, 3)),
    ("iij->ji", (2, 2, 3)),
    ("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)),
    ("i,j->ij", (3,), (2,)),
    ("ij,ij->i", (2, 3), (2, 3)),
    ("ij,jk,kl,l->i", (2, 3), (3, 2), (2, 3), (3,)),
    ("a...,b->b...", (2, 3), (2,)),
    ("ij,kj->ki", (1, 3), (2, 1)),
)


def equations(rng, dtype):
    return [Sample(text, *[array(rng, s, dtype, -1, 1) for s in shapes]) for text, *shapes in EQUATIONS]


row(equation.einsum, equations, INEXACT)
