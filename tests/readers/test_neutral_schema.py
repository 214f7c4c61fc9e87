"""The published form of neutral JSON: what is valid under its schema can be read, and which versions can be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tracewitness.errors import ReadError
from tracewitness.readers import decode_trace, read, read_neutral
from tracewitness.readers.neutral_schema import SCHEMA_ID, TRACE_VERSION, trace_schema
from tracewitness.testing import events, json_values
from tracewitness.trace import Record, Trace, Unreadable

VALIDATOR = Draft202012Validator(trace_schema())
_EVENT = Draft202012Validator({**trace_schema(), "anyOf": [{"$ref": "#/$defs/event"}]})
_FIELDS = Record.__struct_fields__


def _is_readable(event: Any) -> bool:
    return not any(isinstance(found, Unreadable) for found in Trace.from_events([event]).events)


def test_the_schema_is_one() -> None:
    """It has a name and a version, and every field of an event a description."""
    schema = trace_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == SCHEMA_ID
    assert str(TRACE_VERSION) in SCHEMA_ID
    described = {
        key: field["description"] for kind in _FIELDS[:8] for key, field in schema["$defs"][kind]["properties"].items()
    }
    assert set(described) == set(_FIELDS)


@given(events(faults=False, max_size=6))
def test_what_is_written_is_valid(made: list[Any]) -> None:
    """As a list, and as a document."""
    written = json.loads(json.dumps(Trace.from_events(made, name="a").to_events()))
    for document in (written, {"version": 1, "name": "a", "events": written, "problems": []}):
        assert list(VALIDATOR.iter_errors(document)) == []
        assert read(json.dumps(document)).to_events() == written


@given(events(max_size=6))
def test_an_event_is_valid_where_it_can_be_read(made: list[Any]) -> None:
    """And only there."""
    for event in made:
        assert _EVENT.is_valid(event) == _is_readable(event), event


_ODD = st.sampled_from(["", "x", None, True, False, 0, 1.5, [], {}, [1], {"a": 1}]) | json_values(max_leaves=2)


@given(st.dictionaries(st.sampled_from([*_FIELDS, *_FIELDS[:4], "x"]), _ODD, min_size=1, max_size=3))
@example({"call": "a", "args": None, "raw_args": "{"})
@example({"call": "a", "args": {}, "raw_args": ""})
@example({"call": "a", "args": {}, "raw_args": "{"})
@example({"end": False})
@example({"user": "a", "agent": "b"})
@example({"call": "a", "at": True})
def test_any_mapping_is_valid_where_it_can_be_read(event: dict[str, Any]) -> None:
    """Of whatever fields with whatever in them."""
    whole = event.get("id")
    if isinstance(whole, float) and whole.is_integer():
        return  # to JSON Schema 1.0 is a whole number
    assert _EVENT.is_valid(event) == _is_readable(event), event


@pytest.mark.parametrize("key", ["version", "schema_version"])
@pytest.mark.parametrize("version", [1, "1", "1.0", "1.9.3", None])
def test_known_versions(key: str, version: Any) -> None:
    """They are valid, and read whichever way."""
    document = {key: version, "events": [{"call": "a"}]}
    assert VALIDATOR.is_valid(document)
    for trace in (read_neutral(document), read(document), decode_trace(json.dumps(document).encode())):
        assert len(trace.calls) == 1


@pytest.mark.parametrize("key", ["version", "schema_version"])
@pytest.mark.parametrize("version", [2, 0, "2", "10", "v1", "", True, 1.0, [1], {}])
@pytest.mark.parametrize("call", [{"call": "a"}, {"call": "a", "odd": 1}])
def test_unknown_versions_are_refused(key: str, version: Any, call: Any) -> None:
    """Decoded quickly, from plain data or by detection: what they say may mean something else."""
    document = {"events": [call], key: version}
    for refused in (
        lambda: read_neutral(document),
        lambda: read(document),
        lambda: decode_trace(json.dumps(document).encode()),
        lambda: read(json.dumps(document)),
    ):
        with pytest.raises(ReadError, match="in version"):
            refused()
    assert VALIDATOR.is_valid({**document, "events": []}) is (version == 1.0 and type(version) is float)


@pytest.mark.parametrize("document", [{}, {"events": {}}, {"events": [], "results": []}, {"events": [5]}, 5, [{}]])
def test_what_is_not_valid(document: Any) -> None:
    """Two accounts of one run are ambiguous."""
    assert not VALIDATOR.is_valid(document)


def test_the_schema_is_the_callers_own() -> None:
    """Changing it changes no other."""
    trace_schema()["$defs"]["call"]["properties"].clear()
    assert trace_schema()["$defs"]["call"]["properties"]
