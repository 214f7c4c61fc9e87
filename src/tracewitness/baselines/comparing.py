"""A run compared with its baseline: exactly, and where they differ, call by call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from tracewitness.baselines.document import Entry, FileCall
from tracewitness.baselines.encoding import expectation, looks_like_matcher
from tracewitness.baselines.records import CallRecord, Groups, Preparation
from tracewitness.display import plural, printable, show
from tracewitness.errors import ExpectationError
from tracewitness.matching import Compiled, Difference, assign, compile_expected
from tracewitness.scoring import ExpectedCall, assess, out_of_order

__all__ = ["Comparison", "WantedCall", "compare"]

_MOST_ROWS: Final = 30
_MOST_DIFFERENCES: Final = 8
_WIDTH: Final = 76


class WantedCall(Struct, frozen=True):
    """A call of a baseline, ready to be compared.

    Attributes:
        written: the call as the file has it.
        fields: its fields as they are compared, still in the form of the file.
        compiled: the same compiled.
        results: whether what came back is compared.
        item: the number of its step.
        number: its number among the calls.
        line: where it stands in the file.
    """

    written: FileCall
    fields: dict[str, Any]
    compiled: Compiled
    results: bool
    item: int
    number: int
    line: int

    def matches(self, record: CallRecord) -> bool:
        """Tell whether a call came as this one."""
        return self.compiled.matches(record.seen(results=self.results))

    def differences(self, record: CallRecord) -> list[Difference]:
        """Return where a call differs from this one."""
        return self.compiled.differences(record.seen(results=self.results), limit=_MOST_DIFFERENCES)


class Comparison(Struct, frozen=True):
    """What comparing came to.

    Attributes:
        wanted: the calls of the baseline.
        came: the calls of the run.
        is_same: whether the run is as the baseline has it.
        partners: for each call of the baseline, the number of the call that stands for it, or None.
        moved: the numbers of the calls that came, but at another place in the order.
    """

    wanted: tuple[WantedCall, ...]
    came: tuple[CallRecord, ...]
    is_same: bool
    partners: tuple[int | None, ...]
    moved: frozenset[int] = frozenset()

    def summary(self) -> str:
        """Return in a few words what differs."""
        changed = sum(1 for one, other in self._pairs() if not self.wanted[one].matches(self.came[other]))
        missing = self.partners.count(None)
        new = len(self.came) - (len(self.partners) - missing)
        counts = [(changed, "changed"), (missing, "missing"), (new, "new"), (len(self.moved), "moved")]
        said = [f"{plural(count, 'call')} {word}" for count, word in counts if count]
        return ", ".join(said) or "as the baseline has it"

    def lines(self) -> list[str]:
        """Return what differs, call by call, in printable lines."""
        rows = list(self._rows())
        shown = [line for row in rows[:_MOST_ROWS] for line in row]
        if len(rows) > _MOST_ROWS:
            shown.append(f"… and {plural(len(rows) - _MOST_ROWS, 'more call')} that differ")
        return shown

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return ((one, other) for one, other in enumerate(self.partners) if other is not None)

    def _rows(self) -> Iterator[list[str]]:
        for one, other in enumerate(self.partners):
            wanted = self.wanted[one]
            if other is None:
                yield [f"MISSING  {_as_written(wanted)}"]
                continue
            record = self.came[other]
            found = [f"           {printable(str(difference), 400)}" for difference in wanted.differences(record)]
            marks = [*(["MOVED"] if other in self.moved else []), *(["CHANGED"] if found else [])]
            if marks:
                yield [f"{' and '.join(marks):8} {_as_came(record)}", f"      was  {_as_written(wanted)}", *found]
        known = set(self.partners)
        for record in self.came:
            if record.number not in known:
                yield [f"NEW      {_as_came(record)}"]


def _as_written(wanted: WantedCall) -> str:
    place = f"call {wanted.number + 1}, line {wanted.line}"
    return f"{_shown(wanted.compiled.expected)} ({place})"


def _as_came(record: CallRecord) -> str:
    return f"{_shown(record.call)} (event {record.position})"


def _shown(fields: Any) -> str:
    args = fields.get("args", fields.get("raw_args", {}))
    named = isinstance(args, dict)
    inside = ", ".join(f"{key}={show(value, 24)}" for key, value in args.items()) if named else show(args, 40)
    return printable(f"{fields['call']}({inside})", _WIDTH)


def compare(entry: Entry, groups: Groups, preparation: Preparation, *, results: bool) -> Comparison:
    """Compare a run with a baseline.

    Arguments:
        entry: the baseline.
        groups: the calls that came.
        preparation: what was done to the calls that came; the same is done to the baseline.
        results: whether results are compared also where the baseline has none.

    Raises:
        SuiteError: a matcher in the baseline is malformed.
    """
    wanted = list(_wanted(entry, preparation, results=results))
    came = [record for group in groups for record in group]
    partners = _exactly(wanted, came)
    if partners is not None:
        return Comparison(tuple(wanted), tuple(came), True, tuple(partners))
    return Comparison(tuple(wanted), tuple(came), False, *_paired(wanted, came))


def _wanted(entry: Entry, preparation: Preparation, *, results: bool) -> Iterator[WantedCall]:
    number = 0
    for item_number, item in enumerate(entry.items):
        for call in item.calls:
            fields = preparation.expected(call.fields)
            try:
                compiled = compile_expected(expectation(fields), "strict")
            except ExpectationError as error:
                raise call.located(error, entry.shift) from error
            says = results or not fields.keys().isdisjoint(("result", "raw_result", "is_error"))
            line = call.place.line + entry.shift
            yield WantedCall(call, fields, compiled, says, item_number, number, line)
            number += 1


def _exactly(wanted: list[WantedCall], came: list[CallRecord]) -> list[int | None] | None:
    """Return the partners where all is as it should be: step by step, the calls of a group in any order."""
    if len(wanted) != len(came):
        return None
    partners: list[int | None] = []
    for group in _by_item(wanted):
        begin = len(partners)
        offered = came[begin : begin + len(group)]
        found = _assigned(group, offered)
        if None in found:
            return None
        partners += [None if other is None else begin + other for other in found]
    return partners


def _by_item(wanted: Sequence[WantedCall]) -> Iterator[list[WantedCall]]:
    begin = 0
    for index in range(1, len(wanted) + 1):
        if index == len(wanted) or wanted[index].item != wanted[begin].item:
            yield list(wanted[begin:index])
            begin = index


def _assigned(group: list[WantedCall], offered: list[CallRecord]) -> list[int | None]:
    if len(group) == 1:
        return [0 if group[0].matches(offered[0]) else None]
    compatible = [[index for index, record in enumerate(offered) if call.matches(record)] for call in group]
    return assign(compatible, len(offered))


def _paired(wanted: list[WantedCall], came: list[CallRecord]) -> tuple[tuple[int | None, ...], frozenset[int]]:
    """Give the calls of the baseline partners of the same tool, so that as much as can be is as it was.

    Returns the partners, and of these the fewest without which the rest came in the order of the baseline.
    """
    results = any(call.results for call in wanted)
    expected = [ExpectedCall(*_slots(call.fields, is_written=True)) for call in wanted]
    actual = [_slots(record.seen(results=results), is_written=False) for record in came]
    pairs = assess(expected, [{"tool": tool, "args": args} for tool, args in actual], strict=True, in_order=True).pairs
    numbers = {id(call): number for number, call in enumerate(expected)}
    partners: list[int | None] = [None] * len(wanted)
    for pair in pairs:
        partners[numbers[id(pair.expected)]] = pair.actual.number
    in_order = sorted(pairs, key=lambda pair: (wanted[numbers[id(pair.expected)]].item, pair.actual.number))
    return tuple(partners), frozenset(out_of_order(in_order))


def _has_names(args: Any) -> bool:
    """Whether arguments are there by their names, and not in a matcher or some form of the file."""
    is_mapping = isinstance(args, dict) and all(isinstance(key, str) for key in args)
    return is_mapping and not looks_like_matcher(args)


def _slots(fields: dict[str, Any], *, is_written: bool) -> tuple[str, dict[str, Any]]:
    """Return a call as calls are scored, so that each argument, the agent and the result count as much as each other.

    The tool's name gets a word before it, so that no name is taken for the short form of another one.
    """
    slots: dict[str, Any] = {}
    for field, value in fields.items():
        if field == "call":
            continue
        if field == "args" and _has_names(value):
            slots |= {f"args.{key}": item for key, item in value.items()}
        else:
            slots[field] = value
    return f"tool {fields['call']}", expectation(slots) if is_written else slots
