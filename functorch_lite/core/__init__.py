"""What everything stands on: arrays, dtypes, ops, interpreters, cells. The first part of the library that is imported."""

import time

BEGUN = time.time()  # no other file of the library has been read before, but those that import this one
