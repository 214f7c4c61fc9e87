"""Does a value match what was expected, and if not, where and why?"""

from __future__ import annotations

from .amounts import Approx, GreaterOrEqual, GreaterThan, Length, LessOrEqual, LessThan
from .assignment import assign
from .base import AllOf, AnyOf, Matcher, Not, OneOf
from .compiled import Compiled, compile_expected, differences, matches
from .constants import ABSENT, ANY
from .dates import IsDate, IsDateTime
from .difference import Difference
from .envelope import inside_envelope, opened
from .functions import Satisfies
from .inspection import fits_mappings, regexes_that_stop_at_lines, sees_envelope
from .json_types import IsType
from .jsontext import json_value
from .keys import strict_key
from .notation import parse, to_file_notation
from .numeric import json_number
from .patterns import Regex, Search
from .schema import JSONSchema
from .structures import Contains, Each, Eq, Exactly, Partial, Unordered
from .values import MISSING

__all__ = [
    "ABSENT",
    "ANY",
    "MISSING",
    "AllOf",
    "AnyOf",
    "Approx",
    "Compiled",
    "Contains",
    "Difference",
    "Each",
    "Eq",
    "Exactly",
    "GreaterOrEqual",
    "GreaterThan",
    "IsDate",
    "IsDateTime",
    "IsType",
    "JSONSchema",
    "Length",
    "LessOrEqual",
    "LessThan",
    "Matcher",
    "Not",
    "OneOf",
    "Partial",
    "Regex",
    "Satisfies",
    "Search",
    "Unordered",
    "assign",
    "compile_expected",
    "differences",
    "fits_mappings",
    "inside_envelope",
    "json_number",
    "json_value",
    "matches",
    "opened",
    "parse",
    "regexes_that_stop_at_lines",
    "sees_envelope",
    "strict_key",
    "to_file_notation",
]
