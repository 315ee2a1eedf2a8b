"""The ops users call, as composites, by family; their names together."""

from .activation import *
from .channel_norm import *
from .compare import *
from .contract import *
from .conv import *
from .convert import *
from .create import *
from .dynamic import *
from .elementwise import *
from .equation import *
from .extreme import *
from .gathers import *
from .index import *
from .join import *
from .linalg import *
from .margins import *
from .masked import *
from .normalization import *
from .norms import *
from .order import *
from .parts import *
from .promotion import broadcast_shapes, result_type
from .rearrange import *
from .recurrent import *
from .reduce import *
from .scatters import *
from .shape import *
from .softmaxes import *
from .special import *
from .systems import *

from . import at, attention, bounds, fourier, loss, operands, operators, pool, random, resize  # isort: skip  # they install methods and operators of Array

_PUBLIC = (
    activation,
    channel_norm,
    compare,
    contract,
    conv,
    convert,
    create,
    dynamic,
    equation,
    elementwise,
    extreme,
    gathers,
    index,
    join,
    linalg,
    margins,
    masked,
    normalization,
    norms,
    order,
    parts,
    rearrange,
    recurrent,
    reduce,
    scatters,
    shape,
    softmaxes,
    special,
    systems,
)
__all__ = ["broadcast_shapes", "result_type", *(name for module in _PUBLIC for name in module.__all__)]
