"""What the suite reports at its end: the cells of the op table, summed over all workers."""

import json
import os

os.environ.setdefault("FUNCTORCH_LITE_CACHE", "off")  # a test that passes by what an earlier run left behind is none
os.environ.setdefault("FUNCTORCH_LITE_COMPILE", "quick")  # programs here are small and run once: what costs is compiling them

from functorch_lite.testing import Counts  # noqa: E402

collect_ignore = ["helpers/bessel_tables.py"]  # no test: it makes tables, with a package that nothing else needs


def pytest_terminal_summary(terminalreporter):
    total, found = Counts(), False
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "cells" and getattr(report, "when", "") == "call":
                    total.add(Counts.from_json(json.loads(value)))
                    found = True
    if found:
        terminalreporter.section("the op table")
        terminalreporter.write_line(total.report())
