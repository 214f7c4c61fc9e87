"""Readers: each turns a recording into a `Trace`, and what it can't make sense of into problems of it."""

from tracewitness.readers.frameworks.atif_writing import atif_of
from tracewitness.readers.neutral import decode_trace, read_neutral
from tracewitness.readers.neutral_schema import trace_schema
from tracewitness.readers.reader import Reader
from tracewitness.readers.reading import read, read_all
from tracewitness.readers.registry import READERS, register_reader, trace_of
from tracewitness.readers.rows import Row, Run, iter_rows, iter_runs
from tracewitness.readers.text_trace import read_text_trace

__all__ = [
    "READERS",
    "Reader",
    "Row",
    "Run",
    "atif_of",
    "decode_trace",
    "iter_rows",
    "iter_runs",
    "read",
    "read_all",
    "read_neutral",
    "read_text_trace",
    "register_reader",
    "trace_of",
    "trace_schema",
]
