"""torch.device: the name of a device, which is a string wherever one is expected."""

from __future__ import annotations


class device(str):
    """A device by name ('cpu', 'cuda:1', 'meta') or by type and index. It is a string, and compares and hashes as one.

    RuntimeError for a name that is none.

    >>> d = device("cuda", 1)
    >>> d, d.type, d.index, d == "cuda:1", device(d) == d
    (device(type='cuda', index=1), 'cuda', 1, True, True)
    """

    def __new__(cls, type: str | int = "cpu", index: int | None = None):
        name = f"cuda:{type}" if isinstance(type, int) else str(type)
        if index is not None:
            if ":" in name:
                raise RuntimeError(f"device: the name {name!r} has an index already, got index={index} too")
            name = f"{name}:{index}"
        kind, colon, number = name.partition(":")
        if not kind.isidentifier() or (colon and not number.isdecimal()):
            raise RuntimeError(f"device: expected a name such as 'cpu', 'cuda' or 'cuda:0', got {name!r}")
        self = super().__new__(cls, name)
        self.type, self.index = kind, int(number) if colon else None
        return self

    def __repr__(self) -> str:
        return f"device(type={self.type!r}{'' if self.index is None else f', index={self.index}'})"

    def __reduce__(self):
        return device, (str(self),)

    def __deepcopy__(self, memo) -> device:
        return self
