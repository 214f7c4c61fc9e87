"""Inputs of a scan: located, opened, unpacked, and cut into segments of raw records."""

from tracewitness.batch.inputs.locating import Input, locate
from tracewitness.batch.inputs.reading import segments_of
from tracewitness.batch.inputs.segments import RawRecord, Segment, batches_of_records
from tracewitness.batch.inputs.tables import Columns

__all__ = ["Columns", "Input", "RawRecord", "Segment", "batches_of_records", "locate", "segments_of"]
