"""For which kind of device a program is lowered: asked by the implementations whose best form differs."""

from __future__ import annotations

from ..core.interpreter import STATE


def platform() -> str | None:
    """The platform, in jax's words, inside a lowering for a known device; None elsewhere: then any will do."""
    return getattr(STATE.current, "platform", None)
