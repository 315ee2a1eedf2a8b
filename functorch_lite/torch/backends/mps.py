"""torch.backends.mps: not there."""


def is_available() -> bool:
    """No."""
    return False


def is_built() -> bool:
    """No."""
    return False
