from __future__ import annotations

import sys

from .files import COMMAND, stale, write

if "--check" in sys.argv[1:]:
    old = stale()
    print(f"stale: {', '.join(old)}; run {COMMAND}" if old else "everything generated is as it should be")
    sys.exit(bool(old))
for name in write():
    print(name)
