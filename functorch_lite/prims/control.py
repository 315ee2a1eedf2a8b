"""Ops with bodies: scan, switch, while_loop, call, linear_call.

A body is a program in flat arguments (`transforms.body.Body`); the rules here only say how the parts are threaded through
the op, and ask the body itself for its derivative, linearization, transpose or batched form.
"""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import int32
from ..errors import NonDifferentiableError
from . import algebra, compare, index, reduce, shape
from .families import prim

Linear = algebra.Linear


def _pick(values, flags):
    return [v for v, f in zip(values, flags) if f]


def _fill(values, flags):
    """Values in the places that flags mark, None elsewhere."""
    values = iter(values)
    return [next(values) if f else None for f in flags]


def _materialize(tangents, primals, flags):
    """The tangents at flags, zeros where one of them is None."""
    return [algebra.zeros(p.aval) if t is None else t for t, p, f in zip(tangents, primals, flags) if f]


def _is_linear(args):
    return tuple([x.__class__ is Linear for x in args])


# ------------------------------------------------------------------------------------------------------ linear_call


def _linear_call_decompose(operands, count, rule):
    out = rule.forward(operands[:count], operands[count:])
    return tuple([algebra.zeros(a) if t is None else t for t, a in zip(out, rule.outs)])


def _linear_call_transpose(cts, *rest):
    *operands, count, rule = rest
    tangents = operands[count:]
    given = rule.backward(operands[:count], cts, [t.__class__ is Linear and t.wanted for t in tangents])
    return (None,) * count + tuple(given)


def _linear_call_batch(size, args, dims, count, rule):
    tangents = [algebra.front(size, x, d) for x, d in zip(args[count:], dims[count:])]
    out = linear_call([*args[:count], *tangents], count, rule.batch(size, tuple(dims[:count])))
    return out, (0,) * len(out)


linear_call = prim(
    "linear_call",
    "operands: Tensors, count: int, rule: Static",
    multi=True,
    cached=False,
    at_once=lambda body, name, donate=(), checked=False: bool(donate) or checked,
    inline=True,
    kind="linear",
    decompose=_linear_call_decompose,
    meta=lambda *rest: rest[-1].outs,
    transpose=_linear_call_transpose,
    batch=_linear_call_batch,
    doc="A linear function of operands[count:], by residuals operands[:count], whose transpose is the rule's own.",
)

# -------------------------------------------------------------------------------------------------------------- call


def _call_push(primals, tangents, body, name, donate, checked):
    nonzero = tuple([t is not None for t in tangents])
    derived, out_nonzero = body.jvp(nonzero)
    out = call([*primals, *_pick(tangents, nonzero)], derived, name, checked=checked)
    n = len(body.outs)
    return out[:n], tuple(_fill(out[n:], out_nonzero))


def _call_linearize(primals, nonzero, body, name, donate, checked):
    parts = body.linearize(nonzero)
    out = call(primals, parts.forward, name, checked=checked)
    n = len(body.outs)
    residuals = [*(primals[i] for i in parts.reused), *out[n:]]

    def apply(tangents):
        return _fill(call([*residuals, *_pick(tangents, nonzero)], parts.linear, name, checked=checked), parts.out_nonzero)

    return out[:n], apply


def _call_transpose(cts, *rest):
    *args, body, name, _, checked = rest
    linear = _is_linear(args)
    known = [x for x, f in zip(args, linear) if not f]
    nonzero = tuple([c is not None for c in cts])
    out = call([*known, *_pick(cts, nonzero)], body.transpose(linear, nonzero), name, checked=checked)
    return tuple(_fill(out, linear))


def _call_batch(size, args, dims, body, name, donate, checked):
    derived, out_dims = body.batch(size, tuple(dims))
    return call(args, derived, name, checked=checked), out_dims


call = prim(
    "call",
    "operands: Tensors, body: Body, name: str, donate: Dims = (), checked: bool = False",
    multi=True,
    cached=False,
    kind="general",
    decompose=lambda operands, body, name, donate, checked: body(*operands),
    meta=lambda *rest: rest[-4].outs,
    push=_call_push,
    linearize=_call_linearize,
    transpose=_call_transpose,
    batch=_call_batch,
    doc="A program as one op: what a compiled function is to the transforms. `donate` names operands whose buffers it may take; "
    "`checked` runs the checks of its ops.",
)
call.op.traits["compile"] = lambda body, name, donate, checked: {"donate": donate, "checked": checked}


# -------------------------------------------------------------------------------------------------------------- scan


def _scan_parts(operands, consts, carry):
    return operands[:consts], operands[consts : consts + carry], operands[consts + carry :]


def _scan_lower(*rest):
    *operands, body, consts, carry, length, reverse = rest
    cs, init, xs = _scan_parts(operands, consts, carry)

    def step(c, x):
        out = body.lower(*cs, *c, *x)
        return tuple(out[:carry]), tuple(out[carry:])

    final, ys = lax.scan(step, tuple(init), tuple(xs), length=length, reverse=reverse)
    return (*final, *ys)


def _scan_meta(*rest):
    *operands, body, consts, carry, length, reverse = rest
    return (*body.outs[:carry], *(aval((length, *a.shape), a.dtype) for a in body.outs[carry:]))


def _scan_mask(nonzero, consts, carry, derive):
    """The flags of consts, carry and xs once the carries' have stopped growing; `derive(flags)` gives a body's output flags."""
    cs, cr, xs = _scan_parts(list(nonzero), consts, carry)
    while True:
        out = derive((*cs, *cr, *xs))
        grown = [a or b for a, b in zip(cr, out[:carry])]
        if grown == cr:
            return cs, cr, xs
        cr = grown


def _scan_push(primals, tangents, body, consts, carry, length, reverse):
    nonzero = [t is not None for t in tangents]
    cs, cr, xs = _scan_mask(nonzero, consts, carry, lambda flags: body.jvp(flags)[1])
    need = (*cr, *(False,) * (len(body.outs) - carry))
    derived, out_nonzero = body.jvp((*cs, *cr, *xs), instantiate=need)
    # derived takes [primals, tangents] and gives [outs, tangents]; bring both into scan's order
    p_cs, p_cr, p_xs = _scan_parts(primals, consts, carry)
    t_cs, t_cr, t_xs = _scan_parts(tangents, consts, carry)
    n_cs, n_cr, n_xs, n_tc, n_tr = len(p_cs), len(p_cr), len(p_xs), sum(cs), sum(cr)
    order_in = _interleave((n_cs, n_cr, n_xs), (n_tc, n_tr, sum(xs)))
    n_ys = len(body.outs) - carry
    order_out = _interleave((carry, n_ys), (sum(out_nonzero[:carry]), sum(out_nonzero[carry:])), invert=True)
    derived = derived.reorder(order_in, order_out)
    operands = [*p_cs, *_pick(t_cs, cs), *p_cr, *_materialize(t_cr, p_cr, cr), *p_xs, *_pick(t_xs, xs)]
    out = scan(operands, derived, n_cs + n_tc, n_cr + n_tr, length, reverse)
    ys_at = carry + n_tr
    ans = (*out[:carry], *out[ys_at : ys_at + n_ys])
    return ans, tuple(_fill([*out[carry:ys_at], *out[ys_at + n_ys :]], out_nonzero))


def _interleave(first, second, invert=False):
    """Positions that bring [a0 a1 .., b0 b1 ..] (groups of these sizes) into [a0 b0 a1 b1 ..], or the positions back."""
    starts_b, at = [], sum(first)
    for n in second:
        starts_b.append(at)
        at += n
    order, at = [], 0
    for n, m, b in zip(first, second, starts_b):
        order += [*range(at, at + n), *range(b, b + m)]
        at += n
    if invert:
        return tuple(order)
    back = [0] * len(order)
    for i, p in enumerate(order):
        back[p] = i
    return tuple(back)


def _scan_linearize(primals, nonzero, body, consts, carry, length, reverse):
    cs, cr, xs = _scan_mask(nonzero, consts, carry, lambda flags: body.linearize(flags).out_nonzero)
    need = (*cr, *(False,) * (len(body.outs) - carry))
    parts = body.linearize((*cs, *cr, *xs), instantiate=need)
    p_cs, p_cr, p_xs = _scan_parts(primals, consts, carry)
    # residuals that are the body's own inputs: consts and xs are at hand, carries must be stacked like computed ones
    from_const = [i for i in parts.reused if i < consts]
    from_carry = [i for i in parts.reused if consts <= i < consts + carry]
    from_xs = [i for i in parts.reused if i >= consts + carry]
    forward = parts.forward.returning_inputs(tuple(from_carry))
    out = scan(primals, forward, consts, carry, length, reverse)
    n = len(body.outs)
    ans, stacked = out[:n], out[n:]
    computed, carried = stacked[: len(stacked) - len(from_carry)], stacked[len(stacked) - len(from_carry) :]
    # the linear body takes [reused in order, computed, tangents (consts, carry, xs)]; scan wants consts, carry, xs
    where = {i: k for k, i in enumerate(parts.reused)}
    r, m = len(parts.reused), len(computed)
    t = r + m
    n_tc, n_tr, n_tx = sum(cs), sum(cr), sum(xs)
    wanted_order = [
        *(where[i] for i in from_const),
        *range(t, t + n_tc),
        *range(t + n_tc, t + n_tc + n_tr),
        *(where[i] for i in from_carry),
        *(where[i] for i in from_xs),
        *range(r, t),
        *range(t + n_tc + n_tr, t + n_tc + n_tr + n_tx),
    ]
    back = [0] * len(wanted_order)
    for i, p in enumerate(wanted_order):
        back[p] = i
    linear = parts.linear.reorder(tuple(back), None)
    x_res = [*carried, *(primals[i] for i in from_xs), *computed]
    const_res = [primals[i] for i in from_const]

    def apply(tangents):
        t_cs, t_cr, t_xs = _scan_parts(tangents, consts, carry)
        operands = [*const_res, *_pick(t_cs, cs), *_materialize(t_cr, p_cr, cr), *x_res, *_pick(t_xs, xs)]
        out = scan(operands, linear, len(const_res) + n_tc, n_tr, length, reverse)
        return _fill(out, parts.out_nonzero)

    return ans, apply


def _scan_transpose(cts, *rest):
    """The carries' cotangents run backward; those of consts are summed on the way."""
    *args, body, consts, carry, length, reverse = rest
    l_cs, l_cr, l_xs = _scan_parts(_is_linear(args), consts, carry)
    p_cs, p_cr, p_xs = _scan_parts(args, consts, carry)
    l_cr = (True,) * carry  # a carry that is no variable of the tape is a zero tangent made concrete
    linear = (*l_cs, *l_cr, *l_xs)
    ct_carry = _materialize(cts[:carry], [Linear(a) for a in body.outs[:carry]], (True,) * carry)
    ct_ys = cts[carry:]
    y_nonzero = tuple([c is not None for c in ct_ys])
    flipped = body.transpose(linear, (*(True,) * carry, *y_nonzero))  # [known, cts of carry, ys] -> [cts of linear]
    known_c, known_x = [x for x, f in zip(p_cs, l_cs) if not f], [x for x, f in zip(p_xs, l_xs) if not f]
    n_kc, n_kx, n_tc = len(known_c), len(known_x), sum(l_cs)
    sums = [algebra.zeros(x.aval) for x in _pick(p_cs, l_cs)]

    def step(*inputs):
        kc, rest = inputs[:n_kc], inputs[n_kc:]
        acc, rest = rest[:n_tc], rest[n_tc:]
        ct_c, rest = rest[:carry], rest[carry:]
        kx, ct_y = rest[:n_kx], rest[n_kx:]
        out = flipped(*kc, *kx, *ct_c, *ct_y)
        return [*map(algebra.add, acc, out[:n_tc]), *out[n_tc:]]

    operands = [*known_c, *sums, *ct_carry, *known_x, *_pick(ct_ys, y_nonzero)]
    rows = [x.aval if i < n_kc + n_tc + carry else aval(x.shape[1:], x.dtype) for i, x in enumerate(operands)]
    backward = body.trace(step, tuple(rows), name=("scan transpose", linear, y_nonzero, consts, carry))
    out = scan(operands, backward, n_kc, n_tc + carry, length, not reverse)
    return tuple([c if x.__class__ is Linear else None for x, c in zip(args, _fill(out, linear))])


def _scan_batch(size, args, dims, body, consts, carry, length, reverse):
    batched = [d is not None for d in dims]
    a_cs, a_cr, a_xs = _scan_parts(args, consts, carry)
    d_cs, d_cr, d_xs = _scan_parts(list(dims), consts, carry)

    def body_dims(flags):
        return tuple([0 if f else None for f in flags])

    cs, cr, xs = _scan_mask(batched, consts, carry, lambda flags: [d is not None for d in body.batch(size, body_dims(flags))[1]])
    out_dims = (*body_dims(cr), *(None,) * (len(body.outs) - carry))
    derived, dims_out = body.batch(size, body_dims((*cs, *cr, *xs)), instantiate=out_dims)
    operands = [algebra.move(x, d, 0) if d is not None else x for x, d in zip(a_cs, d_cs)]
    operands += [algebra.front(size, x, d) if f else x for x, d, f in zip(a_cr, d_cr, cr)]
    operands += [algebra.move(x, d, 1) if d is not None else x for x, d in zip(a_xs, d_xs)]
    out = scan(operands, derived, consts, carry, length, reverse)
    dims_out = [d if i < carry or d is None else 1 for i, d in enumerate(dims_out)]
    return out, tuple(dims_out)


scan = prim(
    "scan",
    "operands: Tensors, body: Body, consts: int, carry: int, length: int, reverse: bool",
    multi=True,
    cached=False,
    kind="general",
    impl=_scan_lower,
    meta=_scan_meta,
    push=_scan_push,
    linearize=_scan_linearize,
    transpose=_scan_transpose,
    batch=_scan_batch,
    doc="Runs body(consts, carry, x) -> (carry, y) over the leading dimension of xs; gives the last carry and the stacked ys.",
)

# ------------------------------------------------------------------------------------------------------------ switch


def _switch_join(derive, bodies):
    """Flags of outputs that any branch sets."""
    return tuple([any(flags) for flags in zip(*(derive(b) for b in bodies))])


def _switch_push(primals, tangents, bodies):
    which, *operands = primals
    nonzero = tuple([t is not None for t in tangents[1:]])
    out_nonzero = _switch_join(lambda b: b.jvp(nonzero)[1], bodies)
    derived = tuple([b.jvp(nonzero, instantiate=out_nonzero)[0] for b in bodies])
    out = switch(which, [*operands, *_pick(tangents[1:], nonzero)], derived)
    n = len(bodies[0].outs)
    return out[:n], tuple(_fill(out[n:], out_nonzero))


def _switch_linearize(primals, nonzero, bodies):
    """Each branch returns the union of all branches' residuals, zeros in the places of the others."""
    which, *operands = primals
    nonzero = nonzero[1:]
    out_nonzero = _switch_join(lambda b: b.linearize(nonzero).out_nonzero, bodies)
    parts = [b.linearize(nonzero, instantiate=out_nonzero) for b in bodies]
    n = len(bodies[0].outs)
    slots = [list(p.forward.outs[n:]) for p in parts]
    union = [a for s in slots for a in s]

    def forward(k, p):
        before = sum(len(s) for s in slots[:k])

        def run(*xs):
            out = p.forward(*xs)
            filled = [algebra.zeros(a) for a in union]
            filled[before : before + len(slots[k])] = out[n:]
            return [*out[:n], *filled]

        return p.forward.trace(run, p.forward.ins, name=("switch forward", k, tuple(union)))

    def linear(k, p):
        before, count = sum(len(s) for s in slots[:k]), len(slots[k])

        def run(*xs):
            all_operands, residuals, tangents = (
                xs[: len(operands)],
                xs[len(operands) : len(operands) + len(union)],
                xs[len(operands) + len(union) :],
            )
            return p.linear(*[all_operands[i] for i in p.reused], *residuals[before : before + count], *tangents)

        ins = (*[x.aval for x in operands], *union, *_pick([x.aval for x in operands], nonzero))
        return p.linear.trace(run, ins, name=("switch linear", k, ins, nonzero))

    out = switch(which, operands, tuple([forward(k, p) for k, p in enumerate(parts)]))
    linears = tuple([linear(k, p) for k, p in enumerate(parts)])
    residuals = [*operands, *out[n:]]

    def apply(tangents):
        return _fill(switch(which, [*residuals, *_pick(tangents[1:], nonzero)], linears), out_nonzero)

    return out[:n], apply


def _switch_transpose(cts, which, *rest):
    *args, bodies = rest
    linear = _is_linear(args)
    nonzero = tuple([c is not None for c in cts])
    known = [x for x, f in zip(args, linear) if not f]
    out = switch(which, [*known, *_pick(cts, nonzero)], tuple([b.transpose(linear, nonzero) for b in bodies]))
    return (None, *_fill(out, linear))


def _switch_batch(size, args, dims, bodies):
    """One index: the branches are batched. An index a row: every branch runs, on rows of its own where it has any."""
    which, *operands = args
    i_dim, *o_dims = dims
    if i_dim is None:
        out_batched = _switch_join(lambda b: [d is not None for d in b.batch(size, tuple(o_dims))[1]], bodies)
        want = tuple([0 if f else None for f in out_batched])
        derived = tuple([b.batch(size, tuple(o_dims), instantiate=want)[0] for b in bodies])
        return switch(which, operands, derived), want
    rows = [algebra.front(size, x, d) for x, d in zip(operands, o_dims)]
    outs = None
    for k, body in enumerate(bodies):
        # as `switch` does, an index outside [0, n) takes the nearest branch
        take = compare.eq(clamped(which, len(bodies)), algebra.full_like(which, k))
        out = _batched_rows(body, size, [_own_row(take, x) for x in rows])
        outs = out if outs is None else [select_rows(take, new, old) for new, old in zip(out, outs)]
    return tuple(outs), (0,) * len(outs)


def _batched_rows(body, size, rows):
    derived, _ = body.batch(size, (0,) * len(rows), instantiate=(0,) * len(body.outs))
    return derived(*rows)


def clamped(which, n: int):
    """The index of the branch that `switch` takes."""
    low, high = algebra.full_like(which, 0), algebra.full_like(which, n - 1)
    return compare.minimum(compare.maximum(which, low), high)


def select_rows(take, new, old):
    """Rows of new where take, else of old."""
    return compare.select(shape.broadcast(take, new.shape, (0,)), new, old)


def _own_row(take, x):
    """x with the rows that do not take a branch replaced by one that does: a branch never sees what it was not meant for."""
    row = index.dynamic_slice(x, (reduce.argmax(take, 0), *[algebra.zero_index()] * (x.ndim - 1)), (1, *x.shape[1:]))
    return select_rows(take, x, shape.broadcast(row, x.shape, tuple(range(x.ndim))))


switch = prim(
    "switch",
    "which: Tensor, operands: Tensors, bodies: Body",
    multi=True,
    cached=False,
    kind="general",
    impl=lambda which, *rest: tuple(lax.switch(which, [lambda *xs, b=b: tuple(b.lower(*xs)) for b in rest[-1]], *rest[:-1])),
    meta=lambda which, *rest: rest[-1][0].outs,
    push=_switch_push,
    linearize=_switch_linearize,
    transpose=_switch_transpose,
    batch=_switch_batch,
    doc="The outputs of bodies[which] (an int32 scalar, clamped to the range) at the operands.",
)

# -------------------------------------------------------------------------------------------------------- while_loop


def _while_parts(operands, test_consts, body_consts):
    return operands[:test_consts], operands[test_consts : test_consts + body_consts], operands[test_consts + body_consts :]


def _while_lower(*rest):
    *operands, test, body, test_consts, body_consts = rest
    ts, bs, init = _while_parts(operands, test_consts, body_consts)
    out = lax.while_loop(lambda c: test.lower(*ts, *c)[0], lambda c: tuple(body.lower(*bs, *c)), tuple(init))
    return tuple(out)


def _while_push(primals, tangents, test, body, test_consts, body_consts):
    ts, bs, init = _while_parts(primals, test_consts, body_consts)
    _, t_bs, t_init = _while_parts(tangents, test_consts, body_consts)
    n = len(init)
    flags_b = [t is not None for t in t_bs]
    cr = [t is not None for t in t_init]
    while True:
        out = body.jvp((*flags_b, *cr))[1]
        grown = [a or b for a, b in zip(cr, out)]
        if grown == cr:
            break
        cr = grown
    derived, _ = body.jvp((*flags_b, *cr), instantiate=tuple(cr))
    n_bs, n_tb, n_tc = len(bs), sum(flags_b), sum(cr)
    derived = derived.reorder(_interleave((n_bs, n), (n_tb, n_tc)), None)
    wide_test = test.trace(
        lambda *xs: test(*xs[: test_consts + n]), (*test.ins, *_pick([x.aval for x in init], cr)), name=("while jvp", tuple(cr))
    )
    out = while_loop(
        [*ts, *bs, *_pick(t_bs, flags_b), *init, *_materialize(t_init, init, cr)], wide_test, derived, test_consts, n_bs + n_tb
    )
    return out[:n], tuple(_fill(out[n:], cr))


def _while_linearize(primals, nonzero, test, body, test_consts, body_consts):
    raise NonDifferentiableError(
        "while_loop: reverse-mode differentiation is not defined, since the number of iterations is not known beforehand. "
        "Use fl.scan, or fl.fori_loop with static bounds, or forward mode (fl.jvp, fl.jacfwd)"
    )


def _while_batch(size, args, dims, test, body, test_consts, body_consts):
    """Runs until every row is done; a row that is done keeps its values."""
    d_ts, d_bs, d_init = _while_parts(list(dims), test_consts, body_consts)
    a_ts, a_bs, a_init = _while_parts(args, test_consts, body_consts)
    cr = [d is not None for d in d_init]
    row = lambda flags: tuple([0 if f else None for f in flags])
    ts, bs = [d is not None for d in d_ts], [d is not None for d in d_bs]
    while True:
        test_batched = test.batch(size, (*row(ts), *row(cr)))[1][0] is not None
        out = [d is not None for d in body.batch(size, (*row(bs), *row(cr)))[1]]
        grown = [True] * len(cr) if test_batched else [a or b for a, b in zip(cr, out)]
        if grown == cr:
            break
        cr = grown
    operands_t = [algebra.move(x, d, 0) if d is not None else x for x, d in zip(a_ts, d_ts)]
    operands_b = [algebra.move(x, d, 0) if d is not None else x for x, d in zip(a_bs, d_bs)]
    init = [algebra.front(size, x, d) if f else x for x, d, f in zip(a_init, d_init, cr)]
    new_body, _ = body.batch(size, (*row(bs), *row(cr)), instantiate=row(cr))
    if not test_batched:
        new_test, _ = test.batch(size, (*row(ts), *row(cr)), instantiate=(None,))
        return while_loop([*operands_t, *operands_b, *init], new_test, new_body, test_consts, body_consts), row(cr)
    row_test, _ = test.batch(size, (*row(ts), *row(cr)), instantiate=(0,))

    def any_left(*xs):
        return [reduce.reduce_any(row_test(*xs)[0], (0,))]

    def advance(*xs):
        t, b, c = _while_parts(xs, test_consts, body_consts)
        going = row_test(*t, *c)[0]
        return [select_rows(going, new, old) for new, old in zip(new_body(*b, *c), c)]

    any_body = test.trace(any_left, row_test.ins, name=("while any", size, row(ts), row(cr)))
    ins = (*[x.aval for x in operands_t], *[x.aval for x in operands_b], *[x.aval for x in init])
    freeze = body.trace(advance, ins, name=("while freeze", test, size, row(ts), row(bs), row(cr)))
    # the frozen body needs the test's constants too, so they are constants of both
    return while_loop([*operands_t, *operands_t, *operands_b, *init], any_body, freeze, test_consts, test_consts + body_consts), row(cr)


while_loop = prim(
    "while_loop",
    "operands: Tensors, test: Body, body: Body, test_consts: int, body_consts: int",
    multi=True,
    cached=False,
    kind="general",
    impl=_while_lower,
    meta=lambda *rest: rest[-3].outs,
    push=_while_push,
    linearize=_while_linearize,
    batch=_while_batch,
    doc="Repeats carry = body(body_consts, carry) while test(test_consts, carry) holds.",
)

# --------------------------------------------------------------------------------------------------------- opaque one


def _opaque_lower(*xs):
    x = next((x for x in xs if x.size), None)
    if x is None:
        return np.int32(1)
    x = lax.real(x) if np.issubdtype(x.dtype, np.complexfloating) else x
    first = lax.reshape(lax.slice(x, (0,) * x.ndim, (1,) * x.ndim), ())
    bits = lax.bitcast_convert_type(lax.convert_element_type(first, np.float32), np.int32)
    return lax.convert_element_type(lax.ne(lax.bitwise_or(bits, np.int32(1)), np.int32(0)), np.int32)


opaque_one = prim(
    "opaque_one",
    "operands: Tensors",
    kind="zero",
    impl=_opaque_lower,
    meta=lambda *avals: aval((), int32),
    jvp=lambda ans, primals, tangents: None,
    batch=lambda size, args, dims: (opaque_one(args), None),
    reference=lambda operands: np.int32(1),
    doc="1, which no compiler knows, and known only when the operands are: what depends on it cannot be moved before them.",
)
