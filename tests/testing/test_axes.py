"""The axes themselves: each fails for an op that is wrong in what it looks at, and says where."""

from __future__ import annotations

import re

import numpy as np
import pytest
from jax import lax

import functorch_lite as fl
from functorch_lite.core.op import REGISTRY, composite
from functorch_lite.prims import algebra, elementwise
from functorch_lite.prims.families import general, same_meta
from functorch_lite.testing import AXES, Counts, Row, Sample, array, cells_of, check_op, run_cells, unary
from functorch_lite.testing.cells import KINKS, check_reasons
from functorch_lite.testing.table import INTS, NUMBERS

MADE = [0]
SAMPLES = unary(0.5, 2.0, shapes=((3,), (2, 3)))


def wrong_square(**slots):
    """x * x as a prim, with some slots replaced by wrong ones."""
    MADE[0] += 1

    def jvp(ans, primals, tangents):
        (x,), (t,) = primals, tangents
        return algebra.mul(t, algebra.add(x, x))

    right = {
        "impl": lambda x: lax.mul(x, x),
        "meta": same_meta("square", frozenset((1, 2, 3))),
        "jvp": jvp,
        "batch": lambda size, args, dims: (function(args[0]), dims[0]),
        "reference": np.square,
    }
    function = general(f"test_square{MADE[0]}", "x: Tensor", **right | slots)
    return function


def failures(function, sampler=SAMPLES, axes=None, **options):
    return run_cells([Row(function.op, sampler, **options)], axes=axes)


def test_modes_sees_a_program_that_differs_from_the_op_alone():
    lowered = [0.0]

    def impl(x):  # each lowering is another function
        lowered[0] += 1.0
        return lax.mul(lax.mul(x, x), lax.full_like(x, lowered[0]))

    _, failed = failures(wrong_square(impl=impl), axes=["modes"])
    assert failed and "at once" in str(failed[0])


def test_a_right_op_passes_every_axis():
    counts, failed = failures(wrong_square(), dtypes=NUMBERS)
    assert not failed
    assert set(counts.passed) == set(AXES) - {"own_vjp"} and counts.skipped.total() == 0
    assert counts.absent["no reverse rule of its own"] == 2


def wrong_jvp(ans, primals, tangents):
    return algebra.mul(tangents[0], primals[0])


def wrong_batch(size, args, dims):
    return algebra.neg(args[0]), dims[0]


def second_order_only(ans, primals, tangents):
    """Right in value, wrong in its own derivative: the factor hides its dependence on x."""
    (x,), (t,) = primals, tangents
    return algebra.mul(t, fl.stop_gradient(algebra.add(x, x)))


@pytest.mark.parametrize(
    "slots, axis",
    [
        ({"reference": np.abs}, "value"),
        ({"reference": lambda x: np.square(x).astype(bool)}, "value"),
        ({"reference": lambda x: np.square(x)[:1]}, "value"),
        ({"reference": None}, "value"),
        ({"meta": same_meta("square", frozenset((2, 3)), out=fl.float32)}, "meta"),
        ({"jvp": wrong_jvp}, "jvp"),
        ({"jvp": lambda ans, primals, tangents: None}, "jvp"),
        ({"jvp": second_order_only}, "second"),
        ({"jvp": second_order_only}, "jvp_vjp"),
        ({"batch": wrong_batch}, "vmap"),
        ({"batch": wrong_batch}, "vmap_vmap"),
        ({"batch": lambda size, args, dims: (algebra.mul(args[0], args[0]), 0)}, "vmap"),
    ],
)
def test_an_axis_finds_what_it_is_for(slots, axis):
    function = wrong_square(**slots)
    _, failed = failures(function, axes=(axis,))
    assert failed, f"the axis {axis} found nothing"
    message = str(failed[0])
    assert re.search(rf"{function.op.qualname}, axis {axis}, float(32|64), sample 0 \(float(32|64)\[3\]\), seed 0: ", message), message


def test_vjp_finds_a_wrong_transpose():
    op = wrong_linear(lambda ct, x: (algebra.neg(ct),))
    _, failed = failures(op, axes=("vjp", "jvp"))
    assert [re.search(r"axis (\w+)", str(f)).group(1) for f in failed] == ["vjp"]
    assert "<ct, J t>" in str(failed[0])


def test_batched_gradients_find_a_wrong_batched_transpose():
    """Right alone and right in a batch, but its transpose forgets that it is in a batch."""
    op = wrong_linear(lambda ct, x: (algebra.add(ct, ct),), factor=2, batch=lambda size, args, dims: (tripled(args[0]), dims[0]))
    tripled = wrong_linear(lambda ct, x: (algebra.neg(ct),), factor=2)
    _, failed = failures(op, axes=("vjp", "vmap", "grad_vmap"))
    assert [re.search(r"axis (\w+)", str(f)).group(1) for f in failed] == ["grad_vmap"]


def test_per_sample_gradients_find_a_transpose_that_is_wrong_in_a_batch():
    doubled = wrong_linear(lambda ct, x: (algebra.add(ct, ct),), factor=2, batch=lambda size, args, dims: (algebra.neg(args[0]), dims[0]))
    op = wrong_linear(lambda ct, x: (doubled(ct),), factor=2)
    _, failed = failures(op, axes=("vjp", "vmap", "vmap_grad"))
    assert [re.search(r"axis (\w+)", str(f)).group(1) for f in failed] == ["vmap_grad"]


def wrong_linear(transpose, factor=1, **slots):
    from functorch_lite.prims.families import linear

    MADE[0] += 1
    function = linear(
        f"test_linear{MADE[0]}",
        "x: Tensor",
        impl=lambda x: lax.mul(x, lax.full_like(x, factor)),
        meta=same_meta("linear", frozenset((2, 3))),
        transpose=transpose,
        **{"batch": lambda size, args, dims: (function(args[0]), dims[0])} | slots,
    )
    return function


def test_own_rules_are_held_against_the_decomposition():
    def square(input: Tensor) -> Tensor:  # noqa: F821
        return elementwise.mul(input, input)

    def right(wanted, ct, ans, x):
        return (algebra.mul(ct, algebra.add(x, x)),)

    def wrong(wanted, ct, ans, x):
        return (algebra.mul(ct, x),)

    def wrong_in_second_order(wanted, ct, ans, x):
        return (algebra.mul(ct, fl.stop_gradient(algebra.add(x, x))),)

    for i, (rule, words) in enumerate([(right, None), (wrong, "the rule against"), (wrong_in_second_order, "second order")]):
        square.__name__ = f"test_own{i}"
        function = composite(square, reference=np.square)
        function.defvjp(rule)
        _, failed = failures(function, axes=("own_vjp",))
        assert bool(failed) == (words is not None) and (not failed or words in str(failed[0])), failed


@pytest.mark.parametrize("axis", ["jit", "graph", "grad_jit"])
def test_programs_find_an_op_that_reads_its_surroundings(axis):
    state = [0.0]

    def impure(input: Tensor) -> Tensor:  # noqa: F821
        state[0] += 1
        return elementwise.mul(input, algebra.full_like(input, state[0]))

    impure.__name__ = f"test_impure_{axis}"
    function = composite(impure, reference=lambda x: x)
    _, failed = failures(function, axes=(axis,))
    assert failed and f"axis {axis}" in str(failed[0])


def test_a_sampler_must_draw_values_only():
    def sampler(rng, dtype):
        return [Sample(array(rng, (int(rng.integers(2, 6)),), dtype))]

    _, failed = failures(wrong_square(), sampler, axes=("vmap",))
    assert "must draw values only" in str(failed[0])


# ------------------------------------------------------------------------------------------------- cells and reasons


def by_axis(row):
    return {(c.axis.name, c.dtype): c for c in cells_of([row])}


def test_absent_cells_have_structural_reasons():
    whole = by_axis(Row(wrong_square().op, SAMPLES, dtypes=INTS))
    assert whole["jvp", fl.int32].absent == "no float or complex argument: no derivative"
    assert whole["value", fl.int64].absent is None and whole["vmap", fl.int32].absent is None
    compared = by_axis(Row(REGISTRY["prims.isfinite"], SAMPLES))
    assert compared["vjp", fl.float64].absent == "integer or bool output: no derivative"
    constant = by_axis(Row(REGISTRY["prims.iota"], lambda rng, dtype: [Sample((3,), 0, dtype)]))
    assert constant["vmap", fl.float64].absent == "no array argument: nothing to batch"


def test_reasons_are_counted_and_must_be_structural():
    op = wrong_square().op
    counts, failed = run_cells([Row(op, SAMPLES, skip={"jvp": "its values are counts, which do not move"})], axes=("jvp", "vjp"))
    assert not failed and counts.skipped.total() == 1 and counts.passed == {"vjp": 1} and counts.share == 0.5
    assert "its values are counts" in counts.report()
    for axis, reason in (("jvp", "unsupported"), ("jvp", "not implemented yet"), ("jvp", ""), ("no_axis", "no reason")):
        with pytest.raises(ValueError, match=axis):
            check_reasons(Row(op, SAMPLES, skip={axis: reason}))


def test_an_op_without_a_differentiable_sample_fails():
    def sampler(rng, dtype):
        return [Sample(array(rng, (3,), dtype), differentiable=False)]

    function = wrong_square()
    counts, failed = failures(function, sampler, axes=("jvp", "value"))
    assert counts.failed == {"jvp": 1} and "no sample is differentiable" in str(failed[0])
    with_another = [Row(function.op, sampler), Row(function.op, SAMPLES)]
    counts, failed = run_cells(with_another, axes=("jvp", "value"))
    assert not failed and counts.passed == {"jvp": 1, "value": 4} and counts.absent[KINKS] == 1
    with pytest.raises(AssertionError, match="gives no samples"):
        failures(wrong_square(), lambda rng, dtype: [])


def test_counts_travel_as_json():
    counts, _ = run_cells([Row(wrong_square().op, SAMPLES, skip={"jvp": "a reason of its own"})], axes=("jvp", "value", "own_vjp"))
    again = Counts.from_json(counts.to_json())
    assert again == counts
    again.add(counts)
    assert again.applicable == 2 * counts.applicable


def test_check_op_reports_every_failure():
    with pytest.raises(AssertionError, match=r"(?s)2 of 4 cells failed.*axis value.*axis value"):
        check_op(wrong_square(reference=np.abs), SAMPLES, axes=("value", "vmap"))
    with pytest.raises(ValueError, match="no row in the op table"):
        check_op(wrong_square())
    with pytest.raises(ValueError, match=r"\['speed'\] are no axes"):
        check_op(wrong_square(), SAMPLES, axes=("speed",))
