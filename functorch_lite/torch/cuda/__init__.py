"""torch.cuda: the face has no CUDA device to offer, and says so."""


def is_available() -> bool:
    """False: tensors of this face live where XLA's default device is, which has no CUDA streams to talk to."""
    return False


def device_count() -> int:
    """None that could be chosen."""
    return 0


def is_initialized() -> bool:
    """There is nothing to initialize."""
    return False


def manual_seed(seed: int) -> None:
    """The generators of all CUDA devices: of none. `torch.manual_seed` seeds the one that is used."""


manual_seed_all = manual_seed


def empty_cache() -> None:
    """No CUDA cache, nothing to empty."""


__all__ = ["device_count", "empty_cache", "is_available", "is_initialized", "manual_seed", "manual_seed_all"]
