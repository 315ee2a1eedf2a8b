"""Eval: the bottom of the stack. It infers shapes at once, records ops in this thread's segment, and runs segments when values are needed."""

from __future__ import annotations

from weakref import ref

from ..core.array import META, Array, meta, wrap_as
from ..core.aval import aval_of
from ..core.dtype import NUMBERS
from ..core.interpreter import STATE, Interpreter, Traced, install_bottom
from ..core.op import static_key
from ..transforms.body import Body
from .compile import ALWAYS_QUICK, compile_flat
from .launch import one_place
from .operands import buffer_of, number, place_of, refusal
from .segment import Segment, flush, flush_all
from .single import single

_new = Array.__new__


class Eval(Interpreter):
    """Runs ops on Arrays, lazily: see `xla/segment.py` for how, and `fl.eager` for the mode that runs each op at once."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, "eager")

    def bind(self, op, args, params):
        segment = STATE.segment
        if segment is None or op.at_once is not None or segment.several:
            segment = self._begin(op, args, params)
            if segment is None:
                return self._at_once(op, args, params)
        start = step = segment.step
        index = segment.index
        key = [op, static_key(params) if params and op.keyed else params]
        for x in args:
            kind = x.__class__
            if kind is Array:
                buffer = x._buffer
                if buffer is segment:
                    key.append(x.place)
                    continue
            elif x is None:
                key.append(None)
                continue
            elif kind in NUMBERS:
                buffer = number(x)  # equal numbers are one input: a program seldom depends on two being equal by chance
            elif isinstance(x, Traced):
                raise refusal(op, x)
            else:
                raise TypeError(f"{op.name}: expected Arrays, got {kind.__name__}")
            place = index.get(id(buffer))
            if place is None:
                if buffer is META:
                    segment.forget(start)
                    return _meta(op, op.infer(args, params))
                place = segment.enter(x.buffer, x.aval) if kind is Array else segment.enter(buffer, aval_of(x))
                step = segment.step
            key.append(place)
        key = tuple(key)
        found = step.next.get(key)
        if found is None:
            if segment.closed:  # then the places may be wrong, and must not be remembered
                return self._again(segment, step, None, op, args, params)
            try:
                found = step.call(key, args, params)
            except BaseException:
                segment.forget(start)
                raise
        if found.check is not None:
            if found.check.whole or all(p is None or p < 0 for p in found.places):  # nothing that it takes is pending, so nor need it be
                segment.forget(start)
                return self._at_once(op, args, params)
            found.check(args)
        place = found.place
        if not op.multi:
            out = _new(Array)
            out.aval, out._buffer, out.place = found.avals[0], segment, place
            segment.refs.append(ref(out))
        else:
            out = []
            for a in found.avals:
                x = _new(Array)
                x.aval, x._buffer, x.place = a, segment, place + len(out)
                segment.refs.append(ref(x))
                out.append(x)
            out = tuple(out)
        segment.step = found
        if segment.closed:
            return self._again(segment, found, out, op, args, params)
        if found.pause:
            segment.pause()
        return out

    def _begin(self, op, args, params) -> Segment | None:
        """The segment in which a call is recorded, where that takes a closer look; None if it is to run at once."""
        if not STATE.lazy or op.at_once is not None and op.at_once(*params):
            return None
        segment = STATE.segment
        if one_place():
            device = None
        else:
            device = place_of(op, args)
            if segment is not None and device is not segment.device:
                if device is None:
                    return None
                segment.run()
                segment = STATE.segment
        if segment is None:
            segment = STATE.segment = Segment(device)
        return segment

    def _again(self, segment, step, out, op, args, params):
        """The result of a call that was recorded while another thread ran the segment: it may have come too late."""
        with segment.lock:
            if STATE.segment is segment:
                STATE.segment = None
            if out is not None and segment.ran is not None and step.ops <= segment.ran.ops:
                return out
        return self.bind(op, args, params)

    def _at_once(self, op, args, params):
        if op.inline:
            return op.run(args, params)
        if op.effect:
            flush()
        described = op.infer(args, params)  # what the user did wrong surfaces here, in the op's name
        buffers = []
        for x in args:
            kind = x.__class__
            if kind is Array:
                if x._buffer is META:
                    return _meta(op, described)
                buffers.append(x.buffer)
            elif kind in NUMBERS:
                buffers.append(number(x))
            elif isinstance(x, Traced):
                raise refusal(op, x)
            elif x is not None:
                raise TypeError(f"{op.name}: expected Arrays, got {type(x).__name__}")
        found = single(op, tuple(map(aval_of, args)), params, None if one_place() else place_of(op, args))
        outs = found(buffers)
        return tuple(map(wrap_as, found.avals, outs)) if op.multi else wrap_as(found.avals[0], outs[0])


def _meta(op, avals):
    return tuple(map(meta, avals)) if op.multi else meta(avals)


def _stages(self: Body):
    """(lowered, compiled, the function that runs it on Arrays) of a whole program."""
    lowered, executable = compile_flat(self, list(self.ins), self.label)

    def run(operands):
        return list(map(wrap_as, executable.avals, executable(list(map(buffer_of, operands)))))

    return lowered, executable.compiled, run


def _launch(self: Body, donate: tuple[int, ...], checked: bool):
    """The program as one executable, without the way of an op call; where there is one device only."""

    def make():
        how = {"donate": donate, "checked": checked, "quick": ALWAYS_QUICK, "exact": (("body", self), self.outs)}
        _, executable = compile_flat(self, list(self.ins), self.label, **how)
        avals, run = executable.avals, executable

        def launch(operands):
            if donate:
                flush_all()
            buffers = []
            for x in operands:
                kind = x.__class__
                if kind is Array:
                    buffer = x.buffer
                    if buffer is META:
                        return None
                    buffers.append(buffer)
                elif kind in NUMBERS:
                    buffers.append(number(x))
                else:
                    return None
            return list(map(wrap_as, avals, run(buffers)))

        return launch

    return self.remember(("launch", donate, checked), make) if one_place() else None


Body.launch = _launch
Body.stages = _stages
EVAL = Eval()
install_bottom(EVAL)
