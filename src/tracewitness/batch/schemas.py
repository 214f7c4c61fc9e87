"""The columns of what goes into the kernel and of what comes out of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

__all__ = ["BY_PREFIX", "RAW_SCHEMA", "by_column", "raw_schema", "verdict_schema"]

#: What stands before the name of a column that rates are broken down by, so that it can't be taken for one of ours.
BY_PREFIX: Final = "by_"

#: A batch of raw records. ``problem`` says why ``raw`` is null or, where it is not, what is odd about it: that is told
#: where it can't be read. ``name`` is the run's name where the record has none; it picks the case.
RAW_SCHEMA: Final = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("record", pa.int64(), nullable=False),
        pa.field("raw", pa.binary()),
        pa.field("problem", pa.string()),
        pa.field("name", pa.string()),
    ]
)

_VERDICTS: Final = [
    pa.field("trace_id", pa.string(), nullable=False),
    pa.field("source", pa.string(), nullable=False),
    pa.field("record", pa.int64(), nullable=False),
    pa.field("run", pa.int32(), nullable=False),
    pa.field("name", pa.string(), nullable=False),
    pa.field("case", pa.string()),
    pa.field("check", pa.int32()),
    pa.field("label", pa.string(), nullable=False),
    pa.field("operator", pa.string(), nullable=False),
    pa.field("tool", pa.string()),
    pa.field("status", pa.string(), nullable=False),
    pa.field("justification", pa.string()),
    pa.field("reason", pa.string()),
    pa.field("evidence", pa.list_(pa.int32()), nullable=False),
]


def by_column(name: str) -> str:
    """Return the name of the column for what the rates are broken down by."""
    return BY_PREFIX + name


def raw_schema(by: Iterable[str] = ()) -> pa.Schema:
    """Return the columns of raw records, with those that the source gives for breaking the rates down."""
    return pa.schema([*RAW_SCHEMA, *(pa.field(by_column(name), pa.string()) for name in by)])


def verdict_schema(by: Iterable[str] = ()) -> pa.Schema:
    """Return the columns of verdicts: one row for each check of each run, and one for a record that can't be read.

    - ``trace_id``: one for each run: ``source#record``, and ``.run`` after it from the second run of a record on.
    - ``source``, ``record``, ``run``: the file, the record in it (its line, in JSON Lines), the run in the record.
    - ``name``, ``case``: the run's name, and the case that it was checked against, where one has its name.
    - ``check``: the check's number in its case, from 0; null for a record that can't be read.
    - ``label``, ``operator``, ``tool``, ``reason``: of the check.
    - ``status``: ``held``, ``broken``, ``inconclusive`` (the recording is cut) or ``error``.
    - ``justification``: why; of a check that held only where that was asked for.
    - ``evidence``: the positions of the events that prove it.
    - ``by_…``: what the rates are broken down by.
    """
    return pa.schema([*_VERDICTS, *(pa.field(by_column(name), pa.string()) for name in by)])
