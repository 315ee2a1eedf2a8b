"""The ops users call, as composites, by family; their names together."""

from .activation import *
from .compare import *
from .contract import *
from .conv import *
from .convert import *
from .create import *
from .dynamic import *
from .einsum import *
from .elementwise import *
from .extreme import *
from .gathers import *
from .index import *
from .join import *
from .masked import *
from .norm import *
from .order import *
from .parts import *
from .promotion import broadcast_shapes, result_type
from .rearrange import *
from .reduce import *
from .scatters import *
from .shape import *
from .softmax import *
from .special import *

from . import at, attention, bounds, loss, operators  # isort: skip  # they install methods and operators of Array
