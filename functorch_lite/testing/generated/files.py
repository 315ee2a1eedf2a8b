"""The files that are made, and whether they are as they would be made now."""

from __future__ import annotations

from pathlib import Path

from . import page, parts, stubs

COMMAND = "python -m functorch_lite.testing.generated"
HOME = Path(__file__).parents[2]  # the package


def generated() -> dict[Path, str]:
    """Every generated file with its text. Pages stand in docs/, which an installed package does not have."""
    made = {HOME / "decomp" / "parts.json": parts.text()}
    made |= {HOME / name: text for name, text in stubs.stubs().items()}
    if (HOME.parent / "docs").is_dir():
        made[HOME.parent / "docs" / "operators.md"] = page.text()
    return made


def stale() -> list[str]:
    """The names of those that are not what would be made now."""
    return [_short(path) for path, text in generated().items() if not path.exists() or path.read_text() != text]


def write() -> list[str]:
    """Writes those that are stale, and returns their names."""
    out = []
    for path, text in generated().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            out.append(_short(path))
    return out


def _short(path: Path) -> str:
    return path.relative_to(HOME.parent).as_posix()
