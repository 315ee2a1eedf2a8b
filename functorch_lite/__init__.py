from . import prims
from .core.array import asarray
from .core.dtype import float32
from . import xla
