"""Baselines looked at and changed by hand: what is pending, taking it over, removing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import SequenceMatcher, unified_diff
from pathlib import Path

from tracewitness.baselines.document import Document, Entry, Item, NewItem
from tracewitness.baselines.files import KeptDocument, pending_path
from tracewitness.baselines.locations import FOLDER, baseline_path, find_baselines
from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import UsageError
from tracewitness.matching import strict_key

__all__ = ["accept", "files_at", "pending_changes", "remove", "stored", "waiting"]


def files_at(place: Path) -> list[Path]:
    """Return the files of baselines that a path means: a folder's, a module of tests', or the file itself.

    Raises:
        UsageError: there is nothing of the kind.
    """
    if place.is_dir():
        return list(find_baselines(place))
    path = baseline_path(place) if place.suffix == ".py" else place
    if not path.exists() and not pending_path(path).exists():
        what_to_do = f"baselines are in files like {FOLDER}/test_orders.witness.yaml, which a first run records"
        raise UsageError(f"{printable(str(place), 400)} has no baselines; {what_to_do}")
    return [path]


def stored(path: Path) -> Document:
    """Return a file of baselines.

    Raises:
        ReadError, SuiteError: it can't be read; the message says where it is broken.
    """
    return KeptDocument(path).read()


def waiting(path: Path) -> Document:
    """Return what failed comparisons with a file of baselines have seen, and nobody has accepted yet."""
    return KeptDocument(pending_path(path)).read()


def accept(path: Path, keys: Collection[str] = ()) -> tuple[str, ...]:
    """Take over what failed comparisons have seen.

    Arguments:
        path: the file of baselines.
        keys: the baselines that are taken over, all that have changes where none is given.

    Returns the keys of those that were.

    Raises:
        UsageError: a baseline has no changes, or the file can't be written.
        SuiteError: one of the files is broken.
    """
    pending = waiting(path).entries
    chosen = _chosen(path, pending, keys, "nothing to be accepted")

    def take(document: Document) -> Document:
        for key in chosen:
            document = document.with_entry(key, _in_place(document.entries.get(key), pending[key]))
        return document

    if chosen:
        KeptDocument(path).change(take)
        _drop_pending(path, chosen)
    return chosen


def remove(path: Path, keys: Collection[str] = ()) -> tuple[str, ...]:
    """Remove baselines, with what is pending for them. The file goes with its last one.

    Arguments:
        path: the file of baselines.
        keys: the baselines that are removed, all where none is given.

    Returns the keys of those that were.

    Raises:
        UsageError: there is no such baseline, or the file can't be written.
        SuiteError: the file is broken.
    """
    chosen = _chosen(path, stored(path).entries, keys, "no baseline")
    KeptDocument(path).change(lambda document: document.without_entries(chosen))
    _drop_pending(path, chosen)
    return chosen


def _drop_pending(path: Path, keys: Collection[str]) -> None:
    pending = KeptDocument(pending_path(path))
    if pending.exists():
        pending.change(lambda document: document.without_entries(keys), lock=path)


def _chosen(path: Path, there: Collection[str], keys: Collection[str], what: str) -> tuple[str, ...]:
    for key in keys:
        if key not in there:
            near = nearest_name(key, there)
            meant = f"; did you mean {show(near, 200)}?" if near else ""
            raise UsageError(f"{printable(str(path), 400)} has {what} under {show(key, 200)}{meant}")
    return tuple(there) if not keys else tuple(dict.fromkeys(keys))


def _in_place(old: Entry | None, new: Entry) -> list[NewItem]:
    """Return the steps of a baseline, each that stays at its old place, so that it keeps its text."""
    before = [] if old is None else [_key(item) for item in old.items]
    places: dict[int, tuple[int, bool]] = {}
    matcher = SequenceMatcher(None, before, [_key(item) for item in new.items], autojunk=False)
    for tag, begin, end, new_begin, new_end in matcher.get_opcodes():
        if tag == "equal" or (tag == "replace" and end - begin == new_end - new_begin):
            places |= {new_begin + step: (begin + step, tag == "equal") for step in range(end - begin)}
    return [_new_item(item, *places.get(number, (None, False))) for number, item in enumerate(new.items)]


def _new_item(item: Item, old: int | None, is_same: bool) -> NewItem:
    return NewItem(tuple(call.fields for call in item.calls), item.is_group, old, is_same)


def _key(item: Item) -> object:
    return item.is_group, strict_key([call.fields for call in item.calls])


def pending_changes(path: Path, key: str) -> Iterator[str]:
    """Yield the lines in which a baseline would change if it were accepted; none where nothing is pending."""
    pending = waiting(path).entries.get(key)
    if pending is None:
        return
    document = stored(path)
    after = document.with_entry(key, _in_place(document.entries.get(key), pending))
    lines = unified_diff(_lines(document.text), _lines(after.text), "recorded", "pending", lineterm="", n=2)
    yield from (printable(line, 1000) for line in lines)


def _lines(text: str) -> list[str]:
    return text.split("\n")
