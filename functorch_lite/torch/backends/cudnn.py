"""torch.backends.cudnn: not there. XLA chooses algorithms by itself and is deterministic on the CPU."""

enabled = benchmark = deterministic = allow_tf32 = False


def is_available() -> bool:
    """No."""
    return False


def version() -> None:
    """Of nothing."""
    return None
