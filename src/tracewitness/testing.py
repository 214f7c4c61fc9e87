"""Write a trace in a line, and generate traces and checks for property tests.

>>> shop = trace(user("Order ITEM-42"), call("create_order", item_id="ITEM-42"), result({"order_id": 7}))
>>> shop.calls[0].result
{'order_id': 7}

The strategies (`json_values`, `arguments`, `events`, `traces`, `checks`) need Hypothesis; it is imported when
the first of them is called.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, UnsetType

from tracewitness.display import nearest_name
from tracewitness.errors import UsageError
from tracewitness.expectations import OPERATORS
from tracewitness.trace import Trace

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = [
    "TOOLS",
    "WrittenEvent",
    "agent",
    "arguments",
    "call",
    "checks",
    "end",
    "events",
    "json_values",
    "result",
    "system",
    "trace",
    "traces",
    "transfer",
    "user",
]


# ---------------------------------------------------------------------------------------- a trace in a line


class WrittenEvent(dict[str, Any]):
    """An event in neutral form: a plain mapping, with a way to add what an event may have besides."""

    def with_(
        self,
        *,
        id: str | int | UnsetType | None = UNSET,  # noqa: A002 - the field's name in neutral form
        by: str | UnsetType | None = UNSET,
        at: str | float | UnsetType | None = UNSET,
        until: str | float | UnsetType | None = UNSET,
        metadata: Mapping[str, Any] | UnsetType | None = UNSET,
        raw_args: str | UnsetType = UNSET,
    ) -> WrittenEvent:
        """Return the same event with more fields; a tool's own arguments can't collide with them.

        Arguments:
            id: the call's id, or the id of the call that a result answers.
            by: the agent that made the call.
            at, until: when it began and ended: ISO 8601 text or seconds.
            metadata: what stands beside the arguments.
            raw_args: the arguments' text, where it could not be decoded; it takes the arguments' place.

        Raises:
            UsageError: the event is of a kind that has no such field.

        >>> call("create_order", id="ITEM-42").with_(id="c1", by="sales")
        call('create_order', id='ITEM-42').with_(id='c1', by='sales')
        """
        fields = {"id": id, "by": by, "at": at, "until": until, "metadata": metadata, "raw_args": raw_args}
        given = {field: value for field, value in fields.items() if value is not UNSET}
        if raw_args is not UNSET and "call" not in self:
            raise UsageError(f"raw_args goes with a call, not with {self!r}")
        if id is not UNSET and not ("call" in self or "result" in self):
            raise UsageError(f"id goes with a call or a result, not with {self!r}")
        kept = {field: value for field, value in self.items() if field != "args" or raw_args is UNSET}
        return WrittenEvent({**kept, **given})

    def __repr__(self) -> str:
        kind, value = next(iter(self.items()))
        own = self.get("args", {}) if kind == "call" else {}
        beside = {field: each for field, each in self.items() if field not in (kind, "args")}
        if kind == "result":
            own = {field: beside.pop(field) for field in ("of", "id", "is_error") if field in beside}
        first = [] if kind == "end" else [repr(value)]
        more = f".with_({_as_keywords(beside)})" if beside else ""
        return f"{kind}({', '.join([*first, *([_as_keywords(own)] if own else [])])}){more}"


def _as_keywords(fields: Mapping[str, Any]) -> str:
    """Write fields as the keyword arguments that they were given as."""
    if all(name.isidentifier() for name in fields):
        return ", ".join(f"{name}={value!r}" for name, value in fields.items())
    return f"**{dict(fields)!r}"


def user(text: str) -> WrittenEvent:
    """Write a message of the user; it begins a turn.

    >>> user("Order ITEM-42, please")
    user('Order ITEM-42, please')
    """
    return WrittenEvent(user=text)


def agent(text: str) -> WrittenEvent:
    """Write a message of the agent.

    >>> dict(agent("Done."))
    {'agent': 'Done.'}
    """
    return WrittenEvent(agent=text)


def system(text: str) -> WrittenEvent:
    """Write a message of the system.

    >>> dict(system("Be brief."))
    {'system': 'Be brief.'}
    """
    return WrittenEvent(system=text)


def call(tool: str, /, **args: Any) -> WrittenEvent:
    """Write a call to a tool.

    Arguments:
        tool: its name.
        args: its arguments, by any names. What else a call may have (an id, metadata, arguments that could
            not be decoded) comes with `WrittenEvent.with_`.

    >>> dict(call("create_order", item_id="ITEM-42").with_(id="c1"))
    {'call': 'create_order', 'args': {'item_id': 'ITEM-42'}, 'id': 'c1'}
    """
    return WrittenEvent(call=tool, args=args)


def result(
    payload: Any,
    *,
    of: str | None = None,
    id: str | int | None = None,  # noqa: A002 - the field's name in neutral form
    is_error: bool | None = None,
) -> WrittenEvent:
    """Write what a call returned.

    Arguments:
        payload: what came back.
        of: the tool that was called. Without a name and an id, the result answers the earliest call that
            nothing has answered yet.
        id: the call's id; it wins over the name.
        is_error: whether the recording marks it as an error.

    >>> trace(call("pay"), result("declined", is_error=True)).calls[0].is_error
    True
    """
    beside = {"of": of, "id": id, "is_error": is_error}
    return WrittenEvent(result=payload, **{field: value for field, value in beside.items() if value is not None})


def transfer(name: str) -> WrittenEvent:
    """Write that the session was handed over to another agent.

    >>> dict(transfer("billing"))
    {'transfer': 'billing'}
    """
    return WrittenEvent(transfer=name)


def end() -> WrittenEvent:
    """Write that the session ended without a tool saying so.

    >>> end()
    end()
    """
    return WrittenEvent(end=True)


def trace(*events: Mapping[str, Any], name: str = "") -> Trace:
    """Make a trace of events.

    Arguments:
        events: what `user`, `call`, `result` and the others return, or plain mappings in neutral form. No
            event at all is an empty recording, on which no check holds.
        name: the run's name.

    >>> trace(user("hi"), call("greet"), name="greeting")
    <Trace greeting: 2 events>
    """
    return Trace.from_events(events, name=name)


# ---------------------------------------------------------------------------------------- strategies

TOOLS: Final = ("search", "order", "end_session")
"""The tools of generated traces and checks; few, so that checks meet the calls that they are about."""

_RESOURCES = ("projects/p/locations/l/tools/order", "projects/q/tools/order", "shop/order")
_SCALARS = (1, 2, 1.0, "1", "a", "b a", "true", "", True, False, None)
_KINDS = (*["call"] * 4, *["result"] * 9, *["user", "agent"] * 2, "system", "transfer", "end")
_NAMES = ("item", "n", "metadata")
_IDS = ("c1", "c2", "1", 1, 0, "", None)
_USER_TEXTS = ("order a", "a1 or 2?", "1", "b a, thanks", "B-A for $2.00", "")
_AGENT_TEXTS = ("I have ordered it", "done", "shall I?", "well\ndone", "Your order has been placed.")
_CLAIMS = ("done", "^I have", "ordered|done", "shall")
_UNDECODABLE = ('{"item": ', "[1]", "2", "item=1")
_UNREADABLE: tuple[Any, ...] = (
    {},
    None,
    7,
    "call",
    {"cal": "order"},
    {"call": "order", "arg": {}},
    {"call": "order", "agent": "x"},
    {"call": 5},
    {"call": "order", "is_error": True},
    {"call": "order", "args": {}, "raw_args": "{"},
    {"result": 1, "id": 1.5},
    {"user": None},
    {"end": False},
)


_SPENT: Final[tuple[dict[str, Any] | None, ...]] = (
    None,
    {"cost": 0.1, "usage": {"input_tokens": 1, "output_tokens": 1}},
    {"cost": 0.2, "usage": {"total_tokens": 2}},
    {"usage": {"prompt_tokens": 1, "completion_tokens": 0, "cost": 0.3}},
)
_TIMES = (0, 0, 1, 1, 1.5, 2)
_AGENTS = ("sales", "sales", "billing", None)
_QUERY = "SELECT id, n FROM items"
_TABLES: Final[tuple[list[Any], ...]] = ([[1, "a"]], [[1, "b"]], [[1, "a"], [2, "b"]], [[1, "a"], [1, "a"]])


def _state(before: list[Any], after: list[Any], query: str = _QUERY, database: str = "shop") -> dict[str, Any]:
    """Write what a runner records of a database."""
    tables = {"before": {"columns": ["id", "n"], "rows": before}, "after": {"columns": ["id", "n"], "rows": after}}
    return {"database_state": {"database": database, "queries": [{"query": query, **tables}]}}


_STATES: Final[tuple[dict[str, Any] | None, ...]] = (
    None,
    *[_state(before, after) for before in _TABLES for after in _TABLES],
    _state([], [], "SELECT 1"),
    _state([], [], database="other"),
    {"database_state": {"database": "shop", "queries": [{"query": _QUERY, "before": {"error": "no such table"}}]}},
    {"database_state": 5},
)


def json_values(*, max_leaves: int = 6, allow_nan: bool = False) -> SearchStrategy[Any]:
    """Generate plain JSON values.

    Arguments:
        max_leaves: at most about so many scalars in one value.
        allow_nan: whether there are ``NaN`` and the infinities among them.
    """
    from hypothesis import strategies as st

    scalars = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=allow_nan, allow_infinity=allow_nan),
        st.text(max_size=8),
        st.sampled_from(_SCALARS),
    )
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=max_leaves,
    )


@cache
def arguments() -> SearchStrategy[dict[str, Any]]:
    """Generate a call's arguments over few names and few values, so that two calls are often alike."""
    from hypothesis import strategies as st

    scalars = st.sampled_from(_SCALARS)
    nested = st.one_of(
        st.fixed_dictionaries({"item": scalars}),
        st.lists(scalars, max_size=2),
        st.just('{"item": 1, "n": "a"}'),
    )
    return st.dictionaries(st.sampled_from(_NAMES), scalars | nested, max_size=2)


@cache
def _payloads() -> SearchStrategy[Any]:
    """Generate results: data, texts, JSON in text, and each of them in an envelope."""
    from hypothesis import strategies as st

    scalars = st.sampled_from(_SCALARS)
    with_id = scalars.map(lambda value: {"id": value})
    plain = st.one_of(
        with_id,
        with_id,
        scalars,
        st.lists(with_id, max_size=2).map(lambda items: {"items": items}),
        with_id.map(lambda payload: {**payload, "error": "none left"}),
    )
    wrap = st.sampled_from([_as_it_is, _as_it_is, json.dumps, _in_envelope, _in_envelope_text])
    return st.builds(lambda write, payload: write(payload), wrap, plain)


def _as_it_is(payload: Any) -> Any:
    return payload


def _in_envelope(payload: Any) -> Any:
    return {"result": payload}


def _in_envelope_text(payload: Any) -> Any:
    return json.dumps({"result": payload})


class _Recorder:
    """Draws one trace, event by event; it knows which calls are open, so that most results find theirs."""

    def __init__(self, draw: DrawFn, tools: Sequence[str], *, faults: bool) -> None:
        self.draw = draw
        self.tools = tools
        self.faults = faults
        self.open: list[dict[str, Any]] = []

    def one_of(self, values: Sequence[Any]) -> Any:
        return values[self.draw(_below(len(values)))]

    def event(self) -> Any:
        """Draw any event."""
        faulty = self.faults and self.one_of([False, False, True])
        kind = self.one_of(["unreadable", "orphan", "call"] if faulty else _KINDS)
        if kind == "result" and not self.open:
            kind = "call"
        makers: dict[str, Callable[[], Any]] = {
            "call": self.call,
            "result": self.result,
            "orphan": self.orphan,
            "unreadable": lambda: self.one_of(_UNREADABLE),
            "user": lambda: user(self.one_of(_USER_TEXTS)),
            "agent": lambda: self.beside(agent(self.one_of(_AGENT_TEXTS)), _SPENT),
            "system": lambda: self.beside(system("be brief"), _STATES),
            "transfer": lambda: transfer("billing"),
            "end": end,
        }
        made = makers[kind]()
        return dict(made) if isinstance(made, WrittenEvent) else made

    def beside(self, event: WrittenEvent, metadata: Sequence[Mapping[str, Any] | None]) -> WrittenEvent:
        """Draw what stands beside a message, if anything does."""
        found = self.one_of(metadata)
        return event if found is None else event.with_(metadata=found)

    def call(self, tool: str | None = None) -> dict[str, Any]:
        """Draw a call, mostly with plain arguments."""
        made: dict[str, Any] = {"call": tool or self.one_of(self.tools)}
        style = self.one_of(["args"] * 6 + ["absent", "null", "empty"] + ["malformed", "raw"] * self.faults)
        if style == "args":
            made["args"] = self.draw(arguments())
        elif style == "raw":
            made["raw_args"] = self.one_of(_UNDECODABLE)
        elif style != "absent":
            made["args"] = {"null": None, "empty": "", "malformed": self.one_of([[1], 5, "x", False])}[style]
        if self.one_of([True, False]):
            made["id"] = self.one_of(_IDS)
        style = self.one_of(["plain", "spent", "spent", *["none"] * 5])
        if style != "none":
            made["metadata"] = self.draw(arguments()) if style == "plain" else self.one_of(_SPENT)
        self.open.append(made)
        return made

    def result(self) -> dict[str, Any]:
        """Draw a result that answers one of the open calls: by id, by name or by position."""
        target = self.one_of(self.open)
        style = self.one_of(["id", "name", "position"])
        if style == "id" and target.get("id") not in ("", None):
            answered = [each for each in self.open if _same_id(each.get("id"), target["id"])][-1]
            made = {"id": target["id"], **self.one_of([{}, {"of": target["call"]}, {"of": "other"}])}
        elif style == "position":
            answered = self.open[0]
            made = self.one_of([{}, {"id": ""}, {"of": None}, {"of": "", "id": None}])
        else:
            answered = next(each for each in self.open if each["call"] == target["call"])
            made = {"of": target["call"]}
        self.open = [each for each in self.open if each is not answered]
        return {**self.returned(), **made}

    def timed(self, events: list[Any]) -> list[Any]:
        """Draw times for a part of the traces; they go on, and a few are missing."""
        if self.one_of([False, False, False, True]) is False:
            return events
        now, timed = 0.0, []
        for event in events:
            now += self.one_of(_TIMES)
            has_time = isinstance(event, dict) and self.one_of([True] * 9 + [False])
            timed.append({**event, "at": now} if has_time else event)
        return timed

    def signed(self, events: list[Any]) -> list[Any]:
        """Draw the agents that acted, for a part of the traces."""
        if self.one_of([False, False, False, True]) is False:
            return events
        return [
            {**event, "by": self.one_of(_AGENTS)}
            if isinstance(event, dict) and ("call" in event or "agent" in event)
            else event
            for event in events
        ]

    def orphan(self) -> dict[str, Any]:
        """Draw a result of which nobody knows whether it answers anything."""
        naming = {"id": self.one_of(["c1", 1, "c9", True]), "of": self.one_of([*self.tools, "other"])}
        field = self.one_of(["id", "of"])
        return {**self.returned(), field: naming[field]}

    def returned(self) -> dict[str, Any]:
        """Draw what came back, perhaps as an error, perhaps undecodable."""
        made: dict[str, Any] = {"result": self.draw(_payloads())}
        if self.faults and self.one_of([True, *[False] * 5]):
            made = {"raw_result": self.one_of(_UNDECODABLE)}
        if self.one_of([True, *[False] * 4]):
            made["is_error"] = self.one_of([True, True, False, None])
        return made


@cache
def _below(limit: int) -> SearchStrategy[int]:
    """Generate an index. Kept, since making a strategy takes longer than drawing from one."""
    from hypothesis import strategies as st

    return st.integers(0, limit - 1)


def _same_id(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def events(*, tools: Sequence[str] = TOOLS, faults: bool = True, max_size: int = 10) -> SearchStrategy[list[Any]]:
    """Generate whole traces in neutral form, of one event or more.

    Arguments:
        tools: the tools that may be called. ``end_session`` among them often is the last.
        faults: whether some of the traces have what a recording may have but should not: arguments that
            could not be decoded, results that answer nothing, events that are none, and tools that share the
            last part of a full resource name.
        max_size: at most so many events.
    """
    from hypothesis import strategies as st

    @st.composite
    def build(draw: DrawFn) -> list[Any]:
        faulty = faults and draw(st.sampled_from([True, False, False]))
        resources = faults and draw(st.sampled_from([True, False, False, False]))
        recorder = _Recorder(draw, (*tools, *_RESOURCES[:2], *_RESOURCES) if resources else tools, faults=faulty)
        size = draw(st.integers(1, max_size))
        made = [recorder.event() for _ in range(size)]
        if "end_session" in tools and size < max_size and draw(st.sampled_from([True, False, False])):
            made.append(recorder.call("end_session"))
        if len(made) < max_size and draw(st.sampled_from([True, False, False])):
            made.append(dict(recorder.beside(system("state"), _STATES[1:])))
        return recorder.signed(recorder.timed(made))

    return build()


def traces(*, tools: Sequence[str] = TOOLS, faults: bool = True, max_size: int = 10) -> SearchStrategy[Trace]:
    """Generate traces; the arguments are those of `events`."""
    return events(tools=tools, faults=faults, max_size=max_size).map(Trace.from_events)


# ---------------------------------------------------------------------------------------- checks


def checks(type_name: str | None = None, *, tools: Sequence[str] = TOOLS) -> SearchStrategy[dict[str, Any]]:
    """Generate checks as mappings of a file, over the tools and values of generated traces.

    Arguments:
        type_name: an operator's name; without it, any of them.
        tools: the tools that checks may name.

    Raises:
        UsageError: no operator has that name.
    """
    from hypothesis import strategies as st

    if type_name is None:
        return st.sampled_from(list(OPERATORS)).flatmap(lambda name: checks(name, tools=tools))
    if type_name not in OPERATORS:
        near = nearest_name(type_name, OPERATORS)
        raise UsageError(f"there is no operator {type_name!r}" + (f"; did you mean {near!r}?" if near else ""))
    return _fields_of(type_name, st.sampled_from([*tools, *tools, *tools, *_RESOURCES[:1]])).map(
        lambda fields: {"type": type_name, **fields}
    )


def _fields_of(type_name: str, tool: SearchStrategy[str]) -> SearchStrategy[dict[str, Any]]:
    """Generate the fields of one operator."""
    from hypothesis import strategies as st

    args, payload = _expected_args(), _expected_payload()
    step = st.fixed_dictionaries({"tool": tool}, optional={"args": args})
    following = st.fixed_dictionaries({"tool": tool}, optional={"args": args, "result": payload})
    at_least, at_most = st.sampled_from([1, 1, 2]), st.integers(0, 3)
    several = {"tool": tool, "args": args}
    fields: dict[str, SearchStrategy[dict[str, Any]]] = {
        "tool_called": st.fixed_dictionaries({"tool": tool}, optional={"args": args}).flatmap(
            lambda given: _bounds().map(lambda bounds: {**given, **bounds})
        ),
        "tool_not_called": st.fixed_dictionaries({"tool": tool}, optional={"args": args, "before": _marker(following)}),
        "tool_input": st.fixed_dictionaries(several, optional={"min": at_least}),
        "tool_output": st.fixed_dictionaries(
            {"tool": tool, "result": payload},
            optional={"min": at_least, "is_error": st.sampled_from([False, False, True])},
        ),
        "last_tool": step,
        "every_call": st.fixed_dictionaries({"tool": tool, "args": args.map(lambda given: given or {"item": "*"})}),
        "followed_by": st.fixed_dictionaries({"tool": tool, "next": following}),
        "terminal_tool": st.fixed_dictionaries({"tool": tool}),
        "end_session": st.fixed_dictionaries({}, optional={"args": args}),
        "trace_parsed": st.just({}),
        "sequence": _sequences(step),
        "no_other_tools": st.fixed_dictionaries({"tools": st.lists(tool, max_size=4)}),
        "no_duplicate_calls": st.fixed_dictionaries({}, optional={"tool": tool}),
        "max_errors": st.fixed_dictionaries({"max": at_most}, optional={"tool": tool}),
        "max_calls": st.fixed_dictionaries({"max": at_most}, optional={"tool": tool}),
        "max_turns": st.fixed_dictionaries({"max": at_most}),
        "args_from": st.fixed_dictionaries({"tool": tool, "args": _sources(tool)}, optional=_known_values()),
        "claim": following.flatmap(lambda given: st.sampled_from(_CLAIMS).map(lambda says: {"says": says, **given})),
        "claims": _claimed(tool, payload),
        "score": st.fixed_dictionaries(
            {"calls": st.lists(following, min_size=1, max_size=3)},
            optional={
                "min": st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0]),
                "strict": st.booleans(),
                "in_order": st.booleans(),
            },
        ),
        "retry_after_error": st.fixed_dictionaries({"tool": tool}, optional={"max": at_most}),
        "must_recover": st.fixed_dictionaries({"tool": tool}),
        "within_seconds": _timed(tool, args, following),
        "max_cost": st.fixed_dictionaries({"max": st.sampled_from([0, 0.1, 0.3, 1, 1])}),
        "max_tokens": st.fixed_dictionaries({"max": st.sampled_from([0, 2, 5, 9])}),
        "valid_arguments": st.fixed_dictionaries({"tools": st.sampled_from(_DEFINED)}),
        "state": st.sampled_from(_EXPECTED_STATES),
    }
    return fields[type_name]


_DEFINED: Final[tuple[Any, ...]] = (
    {tool: {"type": "object"} for tool in (*TOOLS, "shop/order")},
    [{"name": tool, "input_schema": {"properties": {"item": {"type": "integer"}}}} for tool in TOOLS],
    [{"type": "function", "function": {"name": tool, "parameters": {"required": ["n"]}}} for tool in TOOLS[1:]],
)
_ITEMS: Final[dict[str, Any]] = {"database": "shop", "query": _QUERY}
_EXPECTED_STATES: Final[tuple[dict[str, Any], ...]] = (
    {**_ITEMS, "unchanged": True},
    {**_ITEMS, "rows": [{"id": 1}]},
    {**_ITEMS, "rows": [{"n": "b"}, {"id": 1, "n": "a"}]},
    {**_ITEMS, "rows": []},
    {**_ITEMS, "changed": {"added": [{"id": 2}]}},
    {**_ITEMS, "changed": {"removed": [{"n": "a"}]}},
    {**_ITEMS, "changed": {"changed": [{"before": {"n": "a"}, "after": {"n": "b"}}]}, "key": ["id"]},
    {**_ITEMS, "changed": {"added": [{"id": "*"}]}, "key": ["id"]},
)


def _timed(
    tool: SearchStrategy[str], args: SearchStrategy[dict[str, Any]], following: SearchStrategy[dict[str, Any]]
) -> SearchStrategy[dict[str, Any]]:
    """Generate limits of time for runs, calls, and ways from one call to another."""
    from hypothesis import strategies as st

    seconds = {"seconds": st.sampled_from([0, 1, 2.5, 9])}
    of_tool = st.fixed_dictionaries({**seconds, "tool": tool}, optional={"args": args, "next": following})
    return st.fixed_dictionaries(seconds) | of_tool | of_tool


def _expected_args() -> SearchStrategy[dict[str, Any]]:
    from hypothesis import strategies as st

    matchers: list[dict[str, Any]] = [
        {"$any": True},
        {"$absent": True},
        {"$gt": 1},
        {"$not": 1},
        {"$type": ["string", "null"]},
        {"$one_of": [1, "a"]},
        {"item": "*"},
    ]
    values = st.sampled_from([*_SCALARS, "*"]) | st.sampled_from(matchers)
    exactly = arguments().map(lambda args: {"$exactly": args})
    denied = arguments().map(lambda args: {"$not": args or {"item": 1}})  # no call is without what every call has
    narrow = _one_of_names(values)
    return st.one_of(narrow, narrow, st.dictionaries(st.sampled_from(_NAMES), values, max_size=2), exactly | denied)


def _expected_payload() -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    scalars = st.sampled_from([*_SCALARS, "*"])
    wide = [{}, {"id": "*"}, {"id": {"$any": True}}, {"$type": "object"}, {"$any": True}, {"$contains": "id"}]
    return st.one_of(
        *[st.sampled_from(wide)] * 4,
        scalars,
        scalars.map(lambda value: {"id": value}),
        scalars.map(lambda value: {"result": {"id": value}}),
        scalars.map(lambda value: {"items": [{"id": value}]}),
        scalars.map(lambda value: {"$not": {"id": value}}),
    )


def _marker(following: SearchStrategy[dict[str, Any]]) -> SearchStrategy[dict[str, Any]]:
    """Generate markers; only one with a result may say whether that is an error."""
    from hypothesis import strategies as st

    flags = st.sampled_from([{}, {}, {"is_error": True}, {"is_error": False}])
    return following.flatmap(
        lambda given: flags.map(lambda flag: {**given, **flag}) if "result" in given else st.just(given)
    )


def _bounds() -> SearchStrategy[dict[str, int]]:
    """Generate `min` and `max` that something can satisfy and something can break."""
    from hypothesis import strategies as st

    return st.sampled_from(
        [{}, {}, {"min": 2}, {"min": 0, "max": 0}, {"min": 0, "max": 1}, {"max": 1}, {"min": 2, "max": 3}]
    )


def _sequences(step: SearchStrategy[dict[str, Any]]) -> SearchStrategy[dict[str, Any]]:
    from hypothesis import strategies as st

    calls = st.lists(step | st.lists(step, min_size=1, max_size=3), min_size=1, max_size=3)
    modes = st.fixed_dictionaries({}, optional={"mode": st.just("in_order")}) | st.sampled_from(
        [{"mode": mode} for mode in ("exact", "any_order", "subset")]
    )
    return st.one_of(
        calls.flatmap(lambda given: modes.map(lambda mode: {"calls": given, **mode})),
        st.sampled_from([{"calls": [], "mode": "exact"}, {"calls": [], "mode": "subset"}]),
    )


def _sources(tool: SearchStrategy[str]) -> SearchStrategy[dict[str, Any]]:
    from hypothesis import strategies as st

    paths = st.sampled_from(["id", "items[*].id", "items[0].id", "result.id", "items[1]"])
    result = st.fixed_dictionaries({"tool": tool, "path": paths})
    argument = st.fixed_dictionaries({"argument": st.sampled_from(["note", "item[0]", "n"])}, optional={"tool": tool})
    place = result | argument | st.just({"session": "id"})
    plain = st.one_of(*[st.just("user") | result] * 3, place, st.sampled_from(["session", "results"]))
    several = st.lists(plain, min_size=1, max_size=2)
    formatted = st.fixed_dictionaries(
        {"$format": st.sampled_from(["any", "text", "number", "money", "date"]), "of": plain | several}
    )
    derived = st.fixed_dictionaries(
        {
            "$derived": st.sampled_from(["sum", "count", "min", "max", "mean", "difference", "product", "concat"]),
            "of": place | st.lists(place | st.sampled_from([1, 0.5]), min_size=1, max_size=2).filter(_has_place),
        }
    )
    source = st.one_of(plain, plain, plain, formatted, derived, several.map(lambda given: {"$same": given}))
    return st.dictionaries(
        st.sampled_from(["item", "item", "metadata", "metadata.item", "*"]),
        source | st.lists(source, min_size=1, max_size=2),
        min_size=1,
        max_size=2,
    )


def _known_values() -> dict[str, SearchStrategy[Any]]:
    """Generate what an agent knows beforehand."""
    from hypothesis import strategies as st

    schemas = [{"properties": {"item": {"enum": ["a", 1]}}}, {"properties": {"item": {"items": {"const": "b a"}}}}, {}]
    return {"schema": st.sampled_from(schemas), "session": st.sampled_from([{"id": "a"}, {"id": 2, "x": ["1"]}])}


def _has_place(operands: list[Any]) -> bool:
    """Say whether a value is computed of more than numbers that are given."""
    return any(isinstance(each, dict) for each in operands)


def _claimed(tool: SearchStrategy[str], payload: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    from hypothesis import strategies as st

    words = st.fixed_dictionaries(
        {"verbs": st.sampled_from([["order"], ["place", "book"], ["search"]])},
        optional={"objects": st.sampled_from([["order"], ["item", "orders"]]), "result": payload},
    )
    listed = st.dictionaries(tool, words, min_size=1, max_size=2).map(lambda tools: {"tools": tools})
    ready = st.sampled_from([{}, {"ready": True}])
    return st.one_of(ready, listed, listed.map(lambda given: {**given, "ready": False}))


def _one_of_names(values: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    """Generate mappings of one argument."""
    from hypothesis import strategies as st

    return st.tuples(st.sampled_from(_NAMES), values).map(lambda pair: dict([pair]))
