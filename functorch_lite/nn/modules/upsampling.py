"""Layers that change the resolution of images."""

from __future__ import annotations

from .. import functional as F
from .layer import Layer, layer


@layer(F.interpolate)
class Upsample(Layer):
    """Input [N, C, *] at another resolution: of `size`, or `scale_factor` times its own. See `functional.interpolate`."""

    size: int | tuple[int, ...] | None = None
    scale_factor: float | tuple[float, ...] | None = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def _ready(self) -> None:
        if isinstance(self.scale_factor, (tuple, list)):
            self.scale_factor = tuple(map(float, self.scale_factor))
        elif self.scale_factor:
            self.scale_factor = float(self.scale_factor)

    def extra_repr(self) -> str:
        how = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{how}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images at another resolution, each pixel that of the nearest."""

    def __init__(self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Images at another resolution, each pixel between its four nearest; the corners stay where they are."""

    def __init__(self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


@layer(F.channel_shuffle, shows="groups={groups}")
class ChannelShuffle(Layer):
    """The channels of input [N, C, *] as [groups, C / groups], turned (Zhang et al., 2018)."""

    groups: int


@layer(F.pixel_shuffle, shows="upscale_factor={upscale_factor}")
class PixelShuffle(Layer):
    """[..., C r^2, H, W] as [..., C, H r, W r] (Shi et al., 2016)."""

    upscale_factor: int


@layer(F.pixel_unshuffle, shows="downscale_factor={downscale_factor}")
class PixelUnshuffle(Layer):
    """[..., C, H r, W r] as [..., C r^2, H, W]: `PixelShuffle` undone."""

    downscale_factor: int
