"""Any number of recorded runs against an eval file, by one machine or by many.

::

    inputs  →  segments  →  pieces  →  batches of raw records  →  kernel  →  batches of verdicts  →  parts  →  output
    (files,    (whole lines,  (some MB)  (Arrow: source, record,              (Arrow: a row for       (a file each,
    tables)    single records)           raw, problem, name, by)              each check)             joined at the end)

- ``inputs/`` finds out what an argument stands for, opens and unpacks it, and cuts it into segments, which any process
  can turn into records. It never decodes more of a record than it must to find where it ends. What can't be read is a
  record of its own, with the reason, so that it ends up among the verdicts.
- ``kernel.py`` has the one definition of what a batch of records comes to: `Kernel`, a function of its input alone.
  Every engine runs it, here or in a process of Ray's or Spark's, and can run it again where something died.
- ``pieces.py``: a piece is what a process takes at a time and what makes a part of the output. The same input gives the
  same pieces, so that a scan that was killed knows which of them are done: those whose parts are there.
- ``checking.py`` checks a piece and writes its part; ``local.py`` has processes that do it, ``ray.py`` and ``spark.py``
  give it to theirs.
- ``parts.py``: each part is renamed when it is complete, its counts (`Tally`) and its share of the sample before it.
- ``scanning.py`` puts all of it together, ``summary.py`` says what came of it, ``querying.py`` asks by SQL.

Rows of checks that held have no words: they are read by few and cost most. What is in memory are the pieces that are
being checked, of some megabytes each, and counts of bounded size; never the input, nor the list of its records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tracewitness.batch.extras import need

if TYPE_CHECKING:
    from tracewitness.batch.kernel import Kernel, check_batch
    from tracewitness.batch.querying import query
    from tracewitness.batch.scanning import Options, ScanResult, scan
    from tracewitness.batch.schemas import raw_schema, verdict_schema

__all__ = ["Kernel", "Options", "ScanResult", "check_batch", "query", "raw_schema", "scan", "verdict_schema"]

#: For each name, the module that it comes from: it is imported when it is used, since it needs Arrow.
_MODULES: Final = {
    "Kernel": "kernel",
    "check_batch": "kernel",
    "query": "querying",
    "Options": "scanning",
    "ScanResult": "scanning",
    "scan": "scanning",
    "raw_schema": "schemas",
    "verdict_schema": "schemas",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tracewitness.batch' has no attribute {name!r}")
    module = need(f"tracewitness.batch.{_MODULES[name]}", "batch", f"tracewitness.batch.{name}")
    value = globals()[name] = getattr(module, name)
    return value
