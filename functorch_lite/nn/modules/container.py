"""Modules and parameters in sequences and dicts."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..module import Module, framed, indented
from ..parameter import Parameter
from ..tensor import Tensor


def _at(index: Any, n: int) -> int:
    """A position in a sequence of length n."""
    i = operator.index(index)
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of range")
    return i % n


class _Sequence(Module):
    """What Sequential and ModuleList have in common: the order of the modules is what counts, and slicing gives another one."""

    def _modules_of(self, other: Any, what: str) -> list[Module]:
        if not isinstance(other, Iterable):
            raise TypeError(f"{type(self).__name__}.{what} should be called with an iterable, but got {type(other).__name__}")
        return list(other)

    def _rebuild(self, modules: Iterable[Module], names: Iterable[str] | None = None) -> None:
        """These modules and no others, called by their numbers unless named."""
        modules = list(modules)
        for name in list(self._modules):
            delattr(self, name)
        for name, module in zip(names or map(str, itertools.count()), modules):
            self.add_module(name, module)

    def _like(self, modules: Iterable[Module], names: Iterable[str] | None = None):
        new = type(self)()
        new._rebuild(modules, names)
        return new

    def __getitem__(self, index: int | slice):
        if isinstance(index, slice):
            return self._sliced(index)
        return list(self._modules.values())[_at(index, len(self))]

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(list(self._modules)[_at(index, len(self))], module)

    def __delitem__(self, index: int | slice) -> None:
        items = list(self)
        if isinstance(index, slice):
            del items[index]
        else:
            del items[_at(index, len(self))]
        self._rebuild(items)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Module):
        """Adds a module at the end. Returns itself."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]):
        """Adds modules at the end. Returns itself."""
        for module in self._modules_of(modules, "extend"):
            self.append(module)
        return self

    def insert(self, index: int, module: Module):
        """Adds a module before position `index`."""
        items = list(self)
        if not -len(items) <= index <= len(items):
            raise IndexError(f"Index out of range: {index}")
        items.insert(index, module)
        self._rebuild(items)

    def pop(self, index: int = -1) -> Module:
        """Takes a module out and returns it."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self, other):
        return self.extend(other)


class Sequential(_Sequence):
    """Modules one after another, each of the output of the one before. Made of modules, or of an ordered dict of them.

    >>> import functorch_lite as fl
    >>> model = fl.nn.Sequential(fl.nn.Linear(2, 3), fl.nn.ReLU())
    >>> model(fl.ones(5, 2)).shape, list(model.state_dict())
    (torch.Size([5, 3]), ['0.weight', '0.bias'])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else ((str(i), m) for i, m in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """See the class."""
        for module in self._modules.values():
            input = module(input)
        return input

    def _sliced(self, index: slice):
        items = list(self._modules.items())[index]  # keeps the names, as PyTorch does
        return self._like([m for _, m in items], [name for name, _ in items])

    def insert(self, index: int, module: Module) -> Sequential:
        """Adds a module before position `index`. Returns itself."""
        super().insert(index, module)
        return self

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"Sequential: only another Sequential can be added, got {type(other).__name__}")
        return self._like([*self, *other])

    def __mul__(self, times: int) -> Sequential:
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self).__name__} and {type(times).__name__}")
        if times <= 0:
            raise ValueError(f"Sequential: the factor must be positive, got {times}")
        return self._like([*self] * times)

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Sequential:
        self._rebuild(self * times)
        return self


class ModuleList(_Sequence):
    """A list of modules that are all registered. It has no forward: index it or go over it.

    >>> import functorch_lite as fl
    >>> fl.nn.ModuleList([fl.nn.Linear(2, 2) for _ in range(3)])
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _sliced(self, index: slice):
        return self._like(list(self)[index])

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return self._like([*self, *self._modules_of(other, "__add__")])

    def __repr__(self) -> str:
        runs = [list(run) for _, run in itertools.groupby(enumerate(map(repr, self)), key=lambda pair: pair[1])]
        lines = []
        for run in runs:
            (first, text), (last, _) = run[0], run[-1]
            where, times = (f"{first}", "") if first == last else (f"{first}-{last}", f"{len(run)} x ")
            lines.append(f"({where}): {times}{indented(text)}")
        return framed(self._get_name(), [], lines)


class ModuleDict(Module):
    """A dict of modules that are all registered, in the order in which they came. It has no forward.

    >>> import functorch_lite as fl
    >>> layers = fl.nn.ModuleDict({"act": fl.nn.ReLU()})
    >>> layers["act"](fl.asarray(-1.0)).item()
    0.0
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        if key not in self._modules:
            raise KeyError(key)
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes all modules out."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Module:
        """Takes a module out and returns it."""
        module = self[key]
        del self[key]
        return module

    def keys(self):
        """The keys."""
        return self._modules.keys()

    def values(self):
        """The modules."""
        return self._modules.values()

    def items(self):
        """Keys and modules."""
        return self._modules.items()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Adds modules, or replaces those that have the same keys."""
        for key, module in pairs(self, modules):
            self[key] = module


def pairs(owner: Module, items: Any) -> list[tuple[str, Any]]:
    """What `update` was given, as pairs."""
    if hasattr(items, "items"):
        return list(items.items())
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{type(owner).__name__}.update should be called with an iterable of key/value pairs, but got {type(items).__name__}"
        )
    found = list(items)
    for i, pair in enumerate(found):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{type(owner).__name__}.update: element {i} should be a pair of key and value, got {pair!r}")
    return found


# --------------------------------------------------------------------------------------------------------- parameters


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        return f"{kind} containing: [torch.{value.dtype} of size {'x'.join(map(str, value.shape))}]"
    return f"Object of type: {type(value).__name__}"


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list of parameters that are all registered; a tensor becomes one, anything else stays what it is.

    >>> import functorch_lite as fl
    >>> weights = fl.nn.ParameterList([fl.nn.Parameter(fl.ones(2))])
    >>> [name for name, _ in weights.named_parameters()]
    ['0']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, str(_at(index, len(self))))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(_at(index, len(self))), _as_parameter(value))

    def append(self, value: Any) -> ParameterList:
        """Adds one at the end. Returns itself."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds some at the end. Returns itself."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {_shown(value)}" for i, value in enumerate(self) if not isinstance(value, Module))


class ParameterDict(Module):
    """A dict of parameters that are all registered; a tensor becomes one, anything else stays what it is."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def values(self) -> Iterator[Any]:
        """The parameters and other values."""
        return (self[key] for key in self._keys)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Keys and values."""
        return ((key, self[key]) for key in self._keys)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is `default` from now on if there was none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Takes a value out and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Takes out what came last."""
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        """Takes all out."""
        for key in list(self):
            del self[key]

    def update(self, parameters: Any) -> None:
        """Adds values, or replaces those that have the same keys."""
        for key, value in pairs(self, parameters):
            self[key] = value

    def copy(self) -> ParameterDict:
        """Another dict of the same values."""
        return type(self)(dict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another dict, with one value for all these keys."""
        return type(self)(dict.fromkeys(keys, default))

    def __or__(self, other: Mapping[str, Any]) -> ParameterDict:
        new = self.copy()
        new.update(other)
        return new

    def __ior__(self, other: Mapping[str, Any]) -> ParameterDict:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {_shown(value)}" for key, value in self.items() if not isinstance(value, Module))
