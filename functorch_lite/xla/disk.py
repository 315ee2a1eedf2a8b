"""Executables on disk: a program that was compiled once is loaded by the next process.

An entry is named by what the executable depends on: the text of the lowered program, the versions of jax and jaxlib, the device, the
compile options, and the processor. A link leads to it from what the text follows from (`xla/fingerprint.py`), so that the program need
not be lowered to be found. Entries are signed with a key that only this user can read, so that a file of anybody else's, or a
damaged one, is never loaded: it is ignored and replaced. `FUNCTORCH_LITE_CACHE` names the directory (``~/.cache/functorch_lite``
by default), or is ``off``. No global setting of jax is used or changed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import logging
import os
import platform
import secrets
import tempfile
from pathlib import Path

import jax
from jax.experimental import serialize_executable

_LOG = logging.getLogger(__name__)
_MAGIC = b"functorch_lite executable 1\n"
_SECONDS = 0.02  # what compiles faster is not worth a file
_LIMIT = 1 << 30  # bytes that all entries together may take
_room: dict[Path, int] = {}  # bytes that this process may write before it looks again at what is there


@functools.cache
def _directory(setting: str | None) -> Path | None:
    """Where entries are kept; None where the cache is off or the place cannot be written."""
    if setting is not None and setting.lower() in ("off", "0", "none", ""):
        return None
    base = Path(setting) if setting else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "functorch_lite"
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        _LOG.warning("the cache of executables cannot be used: %s", error)
        return None
    return base


def directory() -> Path | None:
    """Where executables are kept, or None where they are not."""
    return _directory(os.environ.get("FUNCTORCH_LITE_CACHE"))


@functools.cache
def _secret(base: Path) -> bytes:
    """The key that entries are signed with, made at the first use."""
    path = base / "key"
    with contextlib.suppress(FileExistsError):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
    return path.read_bytes()


@functools.cache
def _machine() -> str:
    """The processor, for which code was made."""
    flags = ""
    with contextlib.suppress(OSError):
        with open("/proc/cpuinfo") as file:
            flags = next((line for line in file if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()} {platform.processor()} {flags}"


def key_of(text: str, device: jax.Device, options: dict | None, donate: tuple[int, ...]) -> str:
    """The name of the entry of a program, given as StableHLO, or of the link to it, given its fingerprint."""
    parts = [
        jax.__version__,
        jax.lib.__version__,
        device.platform,
        device.device_kind,
        str(device.id),
        _machine(),
        repr(options),
        repr(donate),
    ]
    parts += [os.environ.get("XLA_FLAGS", ""), text]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@functools.cache
def _find_lapack() -> None:
    """Has jaxlib look LAPACK's functions up, which it does when it first lowers a call of one: an executable that calls them is a null
    pointer without."""
    jax.jit(jax.lax.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), "float32"))


def load(key: str | None, inputs: int, outputs: int, device: jax.Device):
    """The executable of an entry; None if there is none that is ours and whole."""
    base = directory()
    if base is None or key is None:
        return None
    try:
        payload = _read(base, key)
        if payload is None:
            return None
        if b"lapack_" in payload:
            _find_lapack()
        trees = jax.tree.structure(((0,) * inputs, {})), jax.tree.structure([0] * outputs)
        return serialize_executable.deserialize_and_load(payload, *trees, backend=device.client, execution_devices=[device])
    except Exception as error:  # whatever jax raises for a file that it cannot read: compile instead
        _LOG.warning("an entry of the cache of executables could not be loaded (%s): %s", error, base / key)
        return None


def store(key: str, compiled, seconds: float) -> None:
    """Keeps an executable, if it took long enough to make; another process never sees half of it."""
    base = directory()
    if base is None or seconds < _SECONDS:
        return
    try:
        payload, _, _ = serialize_executable.serialize(compiled)
    except (ValueError, NotImplementedError, RuntimeError) as error:  # not every backend can
        _LOG.info("an executable cannot be kept: %s", error)
        return
    _write(base, key, payload)


def link(name: str, key: str) -> None:
    """From now on the entry is found by this name too, if it is there."""
    base = directory()
    if base is not None and (base / key).exists():
        _write(base, name, key.encode())


def linked(name: str) -> str | None:
    """The key of the entry that a link leads to."""
    base = directory()
    payload = None if base is None else _read(base, name)
    return None if payload is None else payload.decode()


def _read(base: Path, key: str) -> bytes | None:
    try:
        data = (base / key).read_bytes()
        payload = _opened(data, _secret(base), key)
        if payload is None:
            _LOG.warning("an entry of the cache of executables is damaged or not ours: %s", base / key)
        else:
            os.utime(base / key)
        return payload
    except FileNotFoundError:
        return None
    except OSError as error:
        _LOG.warning("an entry of the cache of executables could not be read (%s): %s", error, base / key)
        return None


def _write(base: Path, key: str, payload: bytes) -> None:
    try:
        _make_room(base, len(payload))
        with tempfile.NamedTemporaryFile(dir=base, prefix="new-", delete=False) as file:
            file.write(_sealed(payload, _secret(base), key))
        os.replace(file.name, base / key)
    except OSError as error:
        _LOG.warning("an executable could not be kept: %s", error)


def _sealed(payload: bytes, secret: bytes, key: str) -> bytes:
    return _MAGIC + hmac.digest(secret, key.encode() + payload, "sha256") + payload


def _opened(data: bytes, secret: bytes, key: str) -> bytes | None:
    head, seal, payload = data[: len(_MAGIC)], data[len(_MAGIC) : len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    return payload if head == _MAGIC and hmac.compare_digest(seal, hmac.digest(secret, key.encode() + payload, "sha256")) else None


def _make_room(base: Path, size: int) -> None:
    """Removes what was not used for longest, until there is room. One look at the folder serves many writes."""
    _room[base] = _room.get(base, 0) - size
    if _room[base] >= 0:
        return
    entries = []
    for path in base.iterdir():
        if path.name != "key":
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                found = path.stat()
                entries.append((found.st_mtime, found.st_size, path))
    total, step = size + sum(n for _, n, _ in entries), _LIMIT // 16
    for _, n, path in sorted(entries) if total > _LIMIT else ():
        if total <= _LIMIT - step:
            break
        path.unlink(missing_ok=True)
        total -= n
    _room[base] = min(step, _LIMIT - total)
