"""What is made of the declarations: the page of operators, the stubs for static tools, the table of what composites are made of.

    python -m functorch_lite.testing.generated [--check]    (or `make generated`)

`--check` writes nothing and names what is stale.
"""

from .files import COMMAND, generated, stale, write

__all__ = ["COMMAND", "generated", "stale", "write"]
