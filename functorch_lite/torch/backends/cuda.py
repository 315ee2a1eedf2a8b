"""torch.backends.cuda: not there. `matmul` keeps what is set; precision is a matter of dtypes here."""

from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False, allow_bf16_reduced_precision_reduction=False)


def is_built() -> bool:
    """No."""
    return False
