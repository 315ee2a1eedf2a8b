"""The ops users call, as composites, by family; their names together."""

from .activation import *
from .calculus import *
from .channel_norm import *
from .compare import *
from .contract import *
from .conv import *
from .convert import *
from .copies import *
from .create import *
from .distinct import *
from .dynamic import *
from .elementwise import *
from .equation import *
from .extreme import *
from .former import *
from .gathers import *
from .grid import *
from .grids import *
from .histograms import *
from .index import *
from .integers import *
from .join import *
from .least_squares import *
from .linalg import *
from .lowrank import *
from .margins import *
from .masked import *
from .matrices import *
from .normalization import *
from .norms import *
from .order import *
from .packed import *
from .parts import *
from .promotion import broadcast_shapes, result_type
from .quantiles import *
from .rearrange import *
from .recurrent import *
from .reduce import *
from .resize import *
from .scatters import *
from .shape import *
from .softmaxes import *
from .special import *
from .spectra import *
from .strided import *
from .systems import *
from .windows import *

from . import at, attention, bessel, bounds, fourier, loss, operators, pool, random, resize, samplers  # isort: skip  # they install methods and operators of Array

_PUBLIC = (
    activation,
    calculus,
    channel_norm,
    compare,
    contract,
    conv,
    convert,
    copies,
    create,
    distinct,
    dynamic,
    elementwise,
    equation,
    extreme,
    former,
    gathers,
    histograms,
    grids,
    grid,
    index,
    integers,
    join,
    least_squares,
    linalg,
    lowrank,
    margins,
    masked,
    matrices,
    normalization,
    norms,
    order,
    packed,
    parts,
    quantiles,
    rearrange,
    recurrent,
    reduce,
    resize,
    scatters,
    shape,
    softmaxes,
    special,
    spectra,
    strided,
    systems,
    windows,
)
__all__ = ["broadcast_shapes", "result_type", *(name for module in _PUBLIC for name in module.__all__)]
