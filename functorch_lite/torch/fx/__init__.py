"""torch.fx: graphs, which are fl.fx."""

from ...fx import *
from . import experimental
