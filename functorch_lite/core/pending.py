"""What an Array may hold in place of its buffer: a promise of it."""

from __future__ import annotations


class Pending:
    """In an Array's ``_buffer``: its data is not there yet, and comes when it is asked for.

    ``device`` is where it will be: a jax device or sharding, None where nothing says so.
    """

    __slots__ = ("device",)

    def force(self, x):
        """The jax array of x, which x holds from now on."""
        raise NotImplementedError


class Failed(Pending):
    """The program that was to compute it raised: so does each use of it."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException):
        self.error, self.device = error, None

    def force(self, x):
        raise self.error
