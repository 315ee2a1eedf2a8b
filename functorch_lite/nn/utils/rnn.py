"""Sequences of different lengths: padded to one length, or packed, step after step, without padding.

The lengths of a packed sequence belong to programs, as shapes do: they are Python ints, and one of other lengths is compiled anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core import pytree
from ...core.array import Array, asarray
from ...core.dtype import int64
from ...refs.compare import where
from ...refs.gathers import index_select
from ...refs.join import stack
from ...refs.rearrange import pad
from ..create import tensor
from ..tensor import Tensor


class PackedSequence:
    """Sequences of different lengths in one array: the first elements of all, then the second ones of those that have one, and so on.

    ``data`` is [all elements, *], ``batch_sizes`` says how many sequences have a first element, a second one and so on, the longest
    sequence first; ``sorted_indices`` says which of the sequences as they were given is which (None: in that order). Made by
    `pack_sequence` and `pack_padded_sequence`; the recurrent layers take and give it.
    """

    __slots__ = ("data", "sizes", "order")

    def __init__(self, data: Tensor | Array, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None) -> None:
        if batch_sizes is None:
            raise ValueError("PackedSequence needs batch_sizes: make it with pack_sequence or pack_padded_sequence")
        order = sorted_indices if sorted_indices is not None or unsorted_indices is None else invert_permutation(unsorted_indices)
        self.data, self.sizes, self.order = data, _ints(batch_sizes), None if order is None else _ints(order)

    batch_sizes = property(lambda self: tensor(np.array(self.sizes, np.int64)))
    sorted_indices = property(lambda self: None if self.order is None else tensor(np.array(self.order, np.int64)))
    unsorted_indices = property(lambda self: None if self.order is None else tensor(np.argsort(self.order)))

    def __iter__(self) -> Iterator:
        return iter((self.data, self.batch_sizes, self.sorted_indices, self.unsorted_indices))

    def __getitem__(self, i: int) -> Any:
        return tuple(self)[i]

    def __len__(self) -> int:
        return 4

    def __repr__(self) -> str:
        return f"PackedSequence(data={self.data!r}, batch_sizes={list(self.sizes)}, sorted_indices={self.order and list(self.order)})"

    def but(self, data: Tensor | Array) -> PackedSequence:
        """Other data of the same lengths."""
        return _packed(data, (self.sizes, self.order))

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With its data on a device or of a dtype, as `Tensor.to`."""
        return self.but(self.data.to(*args, **kwargs))

    def float(self) -> PackedSequence:
        """With data of float32."""
        return self.but(self.data.float())

    def double(self) -> PackedSequence:
        """With data of float64."""
        return self.but(self.data.double())

    def cpu(self) -> PackedSequence:
        """With its data on the host."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> PackedSequence:
        """With its data on a GPU."""
        return self.to("cuda" if device is None else device)

    # ------------------------------------------------------------------------------------------------------ lengths

    @property
    def lengths(self) -> np.ndarray:
        """Of each sequence, the longest first."""
        return (np.array(self.sizes)[:, None] > np.arange(self.sizes[0])).sum(0)

    def places(self, order: Sequence[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Where in data the element of step t and sequence b is, and whether there is one, both [T, B]; sequences in this order."""
        sizes = np.array(self.sizes)
        rows = np.arange(sizes[0]) if order is None else np.asarray(order)
        there = rows < sizes[:, None]
        return np.where(there, (np.cumsum(sizes) - sizes)[:, None] + rows, 0), there

    def padded(self) -> tuple[Any, np.ndarray]:
        """data as [T, B, *], the longest sequence first, with anything at all where there is nothing; and where there is something."""
        where, there = self.places()
        return taken(self.data, where), there

    def repacked(self, padded: Any) -> PackedSequence:
        """What is there of [T, B, *], packed like this."""
        return self.but(flat_rows(padded, np.flatnonzero(self.places()[1])))


def _packed(data, static) -> PackedSequence:
    out = object.__new__(PackedSequence)
    out.data, (out.sizes, out.order) = data, static
    return out


pytree.register(PackedSequence, lambda p: ((p.data,), (p.sizes, p.order), ("data",)), lambda static, children: _packed(*children, static))


def taken(x: Any, where: np.ndarray) -> Any:
    """x[where], for an array of row numbers of any shape."""
    return index_select(x, 0, asarray(where.reshape(-1), int64)).reshape(*where.shape, *x.shape[1:])


def flat_rows(x: Any, where: np.ndarray) -> Any:
    """Rows of x [T, B, *], counted as if its first two dimensions were one."""
    return taken(x.reshape(-1, *x.shape[2:]), where)


def _ints(x: Any) -> tuple[int, ...]:
    return tuple([int(n) for n in (x.tolist() if hasattr(x, "tolist") else x)])


# -------------------------------------------------------------------------------------------------------------- packing


def invert_permutation(permutation: Any) -> Any:
    """The permutation that undoes this one; None for None."""
    return None if permutation is None else tensor(np.argsort(np.array(_ints(permutation))))


def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Packs padded sequences [T, B, *] ([B, T, *] with ``batch_first``) of these lengths (ints, or an array of them).

    With ``enforce_sorted`` the longest comes first, or RuntimeError; without it they are sorted, and `pad_packed_sequence` brings them
    back into their order. RuntimeError for lengths that are not positive, too large, or not one a sequence.

    >>> import functorch_lite.torch as torch
    >>> torch.nn.utils.rnn.pack_padded_sequence(torch.tensor([[1, 3], [2, 0]]), [2, 1]).data.tolist()
    [1, 3, 2]
    """
    lengths = np.array(_ints(lengths), np.int64)
    if input.ndim < 2:
        raise RuntimeError(f"pack_padded_sequence: input must be [T, B, *], got shape {list(input.shape)}")
    steps, batch = (input.shape[1], input.shape[0]) if batch_first else input.shape[:2]
    if lengths.shape != (batch,):
        raise RuntimeError(f"pack_padded_sequence: expected {batch} lengths, one a sequence, got {lengths.size}")
    if batch == 0 or lengths.min() <= 0:
        raise RuntimeError("pack_padded_sequence: every sequence needs a length greater than 0, and there must be one")
    if lengths.max() > steps:
        raise RuntimeError(f"pack_padded_sequence: a length of {lengths.max()} is more than the {steps} steps of input")
    order = None
    if not enforce_sorted:
        order = np.argsort(-lengths, kind="stable")
    elif (lengths[:-1] < lengths[1:]).any():
        raise RuntimeError(
            f"pack_padded_sequence: with enforce_sorted=True lengths must not increase, got {lengths.tolist()}; pass enforce_sorted=False"
        )
    rows = np.arange(batch) if order is None else order
    there = lengths[rows] > np.arange(lengths.max())[:, None]
    t, b = np.nonzero(there)
    where = rows[b] * steps + t if batch_first else t * batch + rows[b]
    return PackedSequence(flat_rows(input, where), there.sum(1), order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Tensor]:
    """A packed sequence as [T, B, *] ([B, T, *] with ``batch_first``), the rest padding_value, and the lengths (int64), in the order in
    which the sequences were packed. T is the largest length, or ``total_length`` (ValueError if that is less).
    """
    back = None if sequence.order is None else np.argsort(sequence.order)
    where_, there = sequence.places(back)
    steps = len(sequence.sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(f"pad_packed_sequence: total_length must be at least the longest sequence's, {steps}, got {total_length}")
        where_, there = (np.pad(x, ((0, total_length - steps), (0, 0))) for x in (where_, there))
    if batch_first:
        where_, there = where_.T, there.T
    x = taken(sequence.data, where_)
    keep = asarray(there.reshape(*there.shape, *[1] * (x.ndim - 2)))
    lengths = sequence.lengths if back is None else sequence.lengths[back]
    return where(keep, x, padding_value), tensor(lengths.astype(np.int64))


def pad_sequence(sequences: Sequence, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Any:
    """Sequences [L_i, *] as one [T, B, *] ([B, T, *] with ``batch_first``), T the largest length, padded at this side.

    >>> import functorch_lite.torch as torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(1)], batch_first=True).tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence: expected at least one sequence")
    if padding_side not in ("left", "right"):
        raise ValueError(f"pad_sequence: padding_side must be 'left' or 'right', got {padding_side!r}")
    steps = max(x.shape[0] for x in sequences)
    rest = [(0, 0)] * (sequences[0].ndim - 1)
    out = []
    for x in sequences:
        missing = (0, steps - x.shape[0]) if padding_side == "right" else (steps - x.shape[0], 0)
        out.append(pad(x, tuple(n for pair in (*rest, missing) for n in pair), value=padding_value))
    return stack(out, 0 if batch_first else 1)


def pack_sequence(sequences: Sequence, enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences [L_i, *]; ``enforce_sorted`` as in `pack_padded_sequence`."""
    sequences = list(sequences)
    return pack_padded_sequence(pad_sequence(sequences), [x.shape[0] for x in sequences], enforce_sorted=enforce_sorted)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list:
    """The sequences [L_i, *] of [T, B, *] ([B, T, *] with ``batch_first``): the inverse of `pad_sequence`."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [x[i, :n] for i, n in enumerate(_ints(lengths))]


def unpack_sequence(packed_sequences: PackedSequence) -> list:
    """The sequences [L_i, *] of a packed one: the inverse of `pack_sequence`."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
