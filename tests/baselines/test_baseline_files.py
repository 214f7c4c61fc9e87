"""The file of baselines: what a person wrote stays, a broken file is never overwritten, and writers never collide."""

from __future__ import annotations

import os
import random
import re
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from baseline_support import check, run, store, text, write

from tracewitness import ReadError, SuiteError, UsageError
from tracewitness.baselines import baseline_path, belongs_to, entry_key, find_baselines
from tracewitness.baselines.accepting import accept
from tracewitness.baselines.document import parse_document

BY_HAND = """\
# Baselines of the order desk.   Ask Ada before changing them.

version: 1

baselines:
    # the simple one
    test_a:
        - call: search      # what the customer asked for
          args: {query: {$regex: "l.mp"}, limit: 5}

        # then it orders

        - {call: order, args: {item: 'L-1', note: "folded
              text"}}
        - call: mail
          args:
              to: ada

    # nothing is called
    test_b: []

    'test_c': # odd
        - parallel:
            - call: x
              args: {}
            - {call: y, args: {}}
"""


def put(folder: Path, key: str, trace: Any, **options: Any) -> Any:
    return store(folder, update=True).check(key, trace, **options)


def note(value: str = "folded text") -> dict[str, Any]:
    return {"order": {"item": "L-1", "note": value}}


def test_a_file_that_a_person_has_laid_out_is_read(tmp_path: Path) -> None:
    write(tmp_path, BY_HAND)
    baselines = store(tmp_path)
    assert baselines.check(
        "test_a", run({"search": {"query": "lamp", "limit": 5}}, note(), {"mail": {"to": "ada"}})
    ).passed
    assert baselines.check("test_b", run()).passed
    assert baselines.check("test_c", run([{"y": {}}, {"x": {}}])).passed
    assert text(tmp_path) == BY_HAND


@pytest.mark.parametrize(
    ("key", "trace", "old", "new"),
    [
        (
            "test_a",
            run({"search": {"query": "lump", "limit": 6}}, note(), {"mail": {"to": "ada"}}),
            "        - call: search      # what the customer asked for\n"
            '          args: {query: {$regex: "l.mp"}, limit: 5}\n',
            '        - call: "search"\n          args:\n'
            '            limit: 6\n            query:\n              "$regex": "l.mp"\n',
        ),
        (
            "test_a",
            run({"search": {"query": "lamp", "limit": 5}}, note("x"), {"mail": {"to": "ada"}}),
            "        - {call: order, args: {item: 'L-1', note: \"folded\n              text\"}}\n",
            '        - call: "order"\n          args:\n            item: "L-1"\n            note: "x"\n',
        ),
        (
            "test_a",
            run({"search": {"query": "lamp", "limit": 5}}, note()),
            "        - call: mail\n          args:\n              to: ada\n",
            "",
        ),
        (
            "test_a",
            run({"search": {"query": "lamp", "limit": 5}}, note(), {"log": {}}, {"mail": {"to": "ada"}}),
            "        - call: mail\n",
            '        - call: "log"\n          args: {}\n        - call: mail\n',
        ),
        ("test_b", run({"a": {}}), "    test_b: []\n", '    "test_b":\n    - call: "a"\n      args: {}\n'),
        (
            "test_bb",
            run({"a": {}}),
            "    test_b: []\n",
            '    test_b: []\n    "test_bb":\n    - call: "a"\n      args: {}\n',
        ),
        ("test_0", run(), "baselines:\n", 'baselines:\n    "test_0": []\n'),
        (
            "test_z",
            run(),
            "            - {call: y, args: {}}\n",
            '            - {call: y, args: {}}\n    "test_z": []\n',
        ),
        (
            "test_c",
            run([{"x": {}}, {"y": {"n": 1}}]),
            BY_HAND.partition("# odd\n")[2],
            '        - parallel:\n          - call: "x"\n            args: {}\n'
            '          - call: "y"\n            args:\n              "n": 1\n',
        ),
    ],
)
def test_rewriting_changes_what_has_changed_and_nothing_else(
    tmp_path: Path, key: str, trace: Any, old: str, new: str
) -> None:
    """Comments, order and layout of all else stay byte for byte."""
    write(tmp_path, BY_HAND)
    result = put(tmp_path, key, trace)
    assert result.passed
    assert text(tmp_path) == BY_HAND.replace(old, new)
    assert store(tmp_path, ci=True).check(key, trace).passed


@pytest.mark.parametrize(
    "layout",
    [
        "version: 1\nbaselines: {test_a: [], test_b: [{call: a, args: {}}]}\n",
        "{version: 1, baselines: {test_a: [], test_b: [{call: a, args: {}}]}}\n",
        '{"version": 1, "baselines": {"test_a": [], "test_b": [{"call": "a", "args": {}}]}}',
        "baselines:\n  test_a: []\n  test_b:\n  - call: a\n    args: {}\nversion: 1\n",
        "baselines:\n  test_a: []\n  test_b: [{call: a, args: {}}]\n\n# the end\nversion: 1\n",
        "version: 1\nbaselines:\n  test_a: &none []\n  test_b:\n  -\n    call: a\n    args: {}\n",
        "version: 1\nbaselines:\n  test_a: &n []\n  test_b:\n  - call: a\n    args: &e {}\n  test_c: *n\n",
        "version: 1\nbaselines:\n  ? test_a\n  : []\n  ? test_b\n  : - call: a\n      args: {}\n",
        "--- # begin\nversion: 1\nbaselines:\n  test_a: []\n  test_b:\n  - {call: a, args: {}}\n...\n",
        "version: 1\nbaselines:\n  test_a: []\n  test_b:\n  - call: a\n    args: {}",
        "version: 1\nbaselines:\n  test_a: []\n  test_b:\n  - call: a\n    args: {}\n\n\n",
        "\ufeffversion: 1\nbaselines:\n  test_a: []\n  test_b:\n  - call: a\n    args: {}\n",
        "version: 1\nbaselines: {}\n",
    ],
)
def test_whatever_the_layout_nothing_is_lost(tmp_path: Path, layout: str) -> None:
    write(tmp_path, layout)
    before = set(parse_document(text(tmp_path), "").entries)
    for key, trace in [
        ("test_b", run({"b": {"t": "x\ny\n"}}, {"a": {}})),
        ("test_new", run({"c": {}})),
        ("test_a", run()),
    ]:
        assert put(tmp_path, key, trace).passed
        assert store(tmp_path, ci=True).check(key, trace).passed
        assert put(tmp_path, key, run({"other": {}})).passed
        assert put(tmp_path, key, trace).passed
    assert set(parse_document(text(tmp_path), "").entries) == before | {"test_a", "test_b", "test_new"}
    if "version: 1\n" in layout.splitlines(keepends=True)[0]:
        assert text(tmp_path).startswith(("version: 1\n", "# Calls of agents"))


def test_lines_stay_ended_as_they_were(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_bytes(BY_HAND.replace("\n", "\r\n").encode())
    put(tmp_path, "test_b", run({"a": {"t": "x\ny\n"}}))
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")
    assert store(tmp_path, ci=True).check("test_b", run({"a": {"t": "x\ny\n"}})).passed


class TestMatchersStay:
    WRITTEN = """\
version: 1
baselines:
  test_order:
  - call: "search"
    args: {query: {$regex: "l.mp"}, at: {$datetime: true}, tags: [{$any: true}, "b"], gone: {$absent: true}, n: 1}
"""
    ARGS = {"query": "lamp", "at": "2024-01-31T12:30:00Z", "tags": ["a", "b"], "n": 1}

    @pytest.mark.parametrize(
        ("change", "kept", "gone"),
        [
            ({"n": 2}, ["$regex", "$datetime", "$any", "$absent"], []),
            ({"query": "desk"}, ["$datetime", "$any", "$absent", '"desk"'], ["$regex"]),
            ({"at": 5}, ["$regex", "$any", "$absent"], ["$datetime"]),
            ({"tags": ["a", "c"]}, ["$any", '"c"'], ['"b"']),
            ({"tags": ["a", "b", "c"]}, ["$any", '"b"', '"c"'], []),
            ({"tags": "a"}, ["$regex", 'tags: "a"'], ["$any"]),
            ({"gone": 1}, ["gone: 1", "$regex"], ["$absent"]),
        ],
    )
    def test_where_they_still_match(self, tmp_path: Path, change: Any, kept: list[str], gone: list[str]) -> None:
        write(tmp_path, self.WRITTEN)
        trace = run({"search": {**self.ARGS, **change}})
        assert check(tmp_path, trace, update=True).updated
        assert [word for word in kept if word not in text(tmp_path)] == []
        assert [word for word in gone if word in text(tmp_path)] == []
        assert check(tmp_path, trace, ci=True).passed

    def test_also_where_the_call_has_moved(self, tmp_path: Path) -> None:
        write(tmp_path, self.WRITTEN)
        trace = run({"new": {}}, {"search": self.ARGS})
        assert check(tmp_path, trace, update=True).updated
        assert self.WRITTEN.splitlines()[-1] in text(tmp_path)
        assert check(tmp_path, trace, ci=True).passed

    def test_and_a_matcher_of_all_arguments(self, tmp_path: Path) -> None:
        write(tmp_path, "version: 1\nbaselines:\n  test_order:\n  - {call: a, args: {$any: true}}\n")
        assert check(tmp_path, run({"a": {"x": 1}})).passed
        assert check(tmp_path, run({"a": {"x": 1}}, {"b": {}}), update=True).updated
        assert "{call: a, args: {$any: true}}" in text(tmp_path)

    def test_calls_that_a_person_has_made_a_group_of_stay_one(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            "version: 1\nbaselines:\n  test_order:\n  - parallel:\n"
            "    - {call: a, args: {}}\n    - {call: b, args: {}}\n",
        )
        assert check(tmp_path, run({"b": {}}, {"a": {"n": 1}}), update=True).updated
        assert check(tmp_path, run({"a": {"n": 1}}, {"b": {}}), ci=True).passed

    def test_calls_that_came_together_the_other_way_round_become_a_group(self, tmp_path: Path) -> None:
        check(tmp_path, run({"a": {}}, {"b": {}}))
        assert check(tmp_path, run([{"b": {}}, {"a": {}}]), update=True).updated
        assert check(tmp_path, run([{"a": {}}, {"b": {}}]), ci=True).passed
        assert check(tmp_path, run([{"b": {}}, {"a": {}}]), ci=True).passed


BROKEN = [
    ("", 1, 1, "has version and baselines; delete it to record anew"),
    ("[]", 1, 1, "has version and baselines"),
    ("version: 1\n", 1, 1, "baselines has a baseline under each key"),
    ("version: 2\nbaselines: {}\n", 1, 1, "version 1 is expected, not 2"),
    ("version: true\nbaselines: {}\n", 1, 1, "version 1 is expected"),
    ("baselines: {}\n", 1, 1, "version 1 is expected, not None"),
    ("version: 1\nbaseline: {}\n", 2, 1, "unknown key 'baseline'; baselines was meant"),
    ("version: 1\nbaselines: []\n", 1, 1, "under each key"),
    ("version: 1\nbaselines:\n  a:\n", 3, 3, "a baseline is a list of calls; [] says that none is made"),
    ("version: 1\nbaselines:\n  a:\n  - x\n", 4, 5, "a call is a mapping"),
    ("version: 1\nbaselines:\n  a:\n  - args: {}\n", 4, 5, "the tool's name under call"),
    ("version: 1\nbaselines:\n  a:\n  - call: x\n    arg: {}\n", 5, 5, "unknown key 'arg'; args was meant"),
    ("version: 1\nbaselines:\n  a:\n  - call: 7\n", 4, 5, "call is a tool's name, not 7; put it in quotes"),
    ("version: 1\nbaselines:\n  a:\n  - parallel: []\n", 4, 5, "parallel has a list of calls"),
    ("version: 1\nbaselines:\n  a:\n  - parallel: [{call: x}]\n    call: y\n", 5, 5, "unknown key 'call'"),
    ("version: 1\nbaselines:\n  a: []\n  a: []\n", 4, 3, "duplicate key 'a'"),
    ("version: 1\nbaselines:\n<<<<<<< HEAD\n  a: []\n=======\n", 4, 4, "not valid YAML"),
    ("version: 1\nbaselines:\n  a: [\n", 4, 1, "not valid YAML"),
    ("version: 1\nbaselines:\n  a: []\n---\nversion: 1\n", 4, 1, "second document"),
    ("version: 1\nbaselines:\n  a:\n  - {call: x, args: {y: !!python/object 1}}\n", 4, 25, "tag"),
    ('version: 1\nbaselines:\n  a:\n  - {call: x, args: {y: "\\ud800"}}\n', 4, 28, "not valid YAML"),
]


@pytest.mark.parametrize(("content", "line", "column", "said"), BROKEN)
@pytest.mark.parametrize("options", [{}, {"update": True}, {"ci": True}], ids=str)
def test_a_broken_file_is_an_error_at_its_line_and_is_never_overwritten(
    tmp_path: Path, content: str, line: int, column: int, said: str, options: Any
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(SuiteError) as caught:
        check(tmp_path, run({"a": {}}), **options)
    assert str(caught.value).startswith(f"{path}:{line}:{column}: ")
    assert said in str(caught.value)
    with pytest.raises(SuiteError):
        store(tmp_path, **options).unused(())
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ('{$bytes: "?"}', "$bytes has bytes in base64"),
        ("{$bytes: 7}", "$bytes has bytes"),
        ("{$tuple: 7}", "$tuple has a list"),
        ("{$pairs: [[1]]}", "$pairs has a list of lists"),
        ("{$pairs: [[[1], 2]]}", "a key in $pairs can't be one"),
        ('{$text: "\\\\q"}', "$text has a text as JSON has it"),
        ("{$int: x}", "$int has a whole number"),
        ("{$python: 1}", "$python has the repr of an object"),
        ("{$regex: '('}", "$regex"),
        ("{$nothing: 1}", "unknown matcher"),
    ],
)
def test_a_malformed_value_is_an_error_at_its_place(tmp_path: Path, args: str, said: str) -> None:
    path = write(tmp_path, f"version: 1\nbaselines:\n  test_order:\n  - call: a\n    args:\n      x: {args}\n")
    with pytest.raises(SuiteError) as caught:
        check(tmp_path, run({"a": {}}), update=True)
    assert re.match(re.escape(f"{path}:6:") + r"\d+: ", str(caught.value))
    assert said in str(caught.value)


def test_bytes_that_are_no_text_are_an_error_at_their_place(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_bytes(b"version: 1\n# \xff\n")
    with pytest.raises(SuiteError, match=":2:3: not UTF-8 from here"):
        check(tmp_path, run({"a": {}}), update=True)
    assert path.read_bytes() == b"version: 1\n# \xff\n"


def test_a_key_of_any_kind_is_kept(tmp_path: Path) -> None:
    keys = [
        "a",
        "test[1-no]",
        "test[a: b]",
        "t['\"]",
        "null",
        "12:30",
        "ü\u202e\x1b",
        " ",
        "k" * 500,
        "# x",
        "line\nline",
        "😀",
    ]
    for key in keys:
        assert store(tmp_path).check(key, run({"a": {}})).written
    assert list(parse_document(text(tmp_path), "").entries) == sorted(keys)
    for key in keys:
        assert store(tmp_path, ci=True).check(key, run({"a": {}})).passed
    before = text(tmp_path)
    with pytest.raises(UsageError, match="can't be written"):
        store(tmp_path).check("k" * 5000, run({"a": {}}))
    assert text(tmp_path) == before


class TestInCI:
    def test_a_missing_baseline_fails_and_nothing_is_written(self, tmp_path: Path) -> None:
        result = check(tmp_path, run({"a": {}}), ci=True)
        assert (result.passed, result.written) == (False, False)
        assert "is missing; in CI none is recorded" in result.explanation
        assert list(tmp_path.iterdir()) == []

    def test_a_difference_fails_and_nothing_is_written(self, tmp_path: Path) -> None:
        write(tmp_path, BY_HAND)
        result = store(tmp_path, ci=True, update=True).check("test_b", run({"a": {}}))
        assert (result.passed, result.updated) == (False, False)
        assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["test_orders.witness.yaml"]
        assert text(tmp_path) == BY_HAND


def test_baselines_that_were_not_used_are_named(tmp_path: Path) -> None:
    write(tmp_path, BY_HAND)
    baselines = store(tmp_path)
    assert baselines.unused(["test_a", "elsewhere"]) == ("test_b", "test_c")
    assert baselines.unused(["test_a"], ran=["test_a", "test_b"]) == ("test_b",)
    assert baselines.unused([], ran=[]) == ()
    assert store(tmp_path / "none").unused([]) == ()


def test_names_tell_the_baselines_of_a_test_apart() -> None:
    assert entry_key("test_a[x]") == "test_a[x]"
    assert entry_key("test_a[x]", 2) == "test_a[x] # 2"
    assert belongs_to("test_a[x] # second", "test_a[x]")
    assert belongs_to("test_a", "test_a")
    assert not belongs_to("test_ab", "test_a")
    assert not belongs_to("test_a[x]", "test_a")


def test_files_are_found_but_not_in_hidden_or_foreign_folders(tmp_path: Path) -> None:
    for folder in ("a", "a/b", ".venv/x", "node_modules/y", "a/__witness__/.local"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        check(tmp_path / folder, run({"x": {}}))
    (tmp_path / "a" / "other.witness.yaml").write_text("")
    assert list(find_baselines(tmp_path)) == [
        baseline_path(tmp_path / name / "test_orders.py") for name in ("a", "a/b")
    ]


def test_what_is_for_this_machine_alone_keeps_itself_out_of_version_control(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # noqa: S607 - whichever git there is
    check(tmp_path, run({"a": {}}))
    check(tmp_path, run({"b": {}}))
    status = subprocess.run(
        ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    assert status.stdout == "?? __witness__/test_orders.witness.yaml\n"


class TestPermissions:
    """As root everything can be written, so a process without its rights tries."""

    @pytest.fixture(autouse=True)
    def _as_somebody(self) -> Any:
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(65534)
        yield
        os.seteuid(0)

    @pytest.fixture
    def place(self) -> Any:
        import shutil
        import tempfile

        folder = Path(tempfile.mkdtemp())
        yield folder
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)
        shutil.rmtree(folder)

    def test_a_folder_that_cant_be_written_to_is_a_clear_error(self, place: Path) -> None:
        place.chmod(0o555)
        with pytest.raises(UsageError, match=r"can't be written: Permission denied; check the permissions"):
            check(place, run({"a": {}}))
        assert list(place.iterdir()) == []

    def test_a_difference_is_told_where_nothing_can_be_kept_for_later(self, place: Path) -> None:
        check(place, run({"a": {}}))
        for path in [*place.rglob("*"), place]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        assert check(place, run({"a": {}})).passed
        result = check(place, run({"b": {}}))
        assert not result.passed
        assert result.explanation.endswith("run with --witness-update to take it over")
        with pytest.raises(UsageError, match="can't be written"):
            check(place, run({"b": {}}), update=True)

    def test_a_protected_file_is_left_as_it_is(self, place: Path) -> None:
        check(place, run({"a": {}}))
        store(place).path.chmod(0o444)
        with pytest.raises(UsageError, match="write-protected"):
            check(place, run({"b": {}}), update=True)
        assert check(place, run({"a": {}}), ci=True).passed

    def test_a_file_that_cant_be_read_is_an_error(self, place: Path) -> None:
        check(place, run({"a": {}}))
        store(place).path.chmod(0o000)
        with pytest.raises(ReadError, match="Permission denied"):
            check(place, run({"a": {}}))

    def test_the_mode_of_a_file_stays(self, place: Path) -> None:
        check(place, run({"a": {}}))
        store(place).path.chmod(0o640)
        check(place, run({"b": {}}), update=True)
        assert stat.S_IMODE(store(place).path.stat().st_mode) == 0o640


def test_a_link_stays_one(tmp_path: Path) -> None:
    check(tmp_path / "real", run({"a": {}}))
    path = baseline_path(tmp_path / "test_orders.py")
    path.parent.mkdir()
    path.symlink_to(baseline_path(tmp_path / "real" / "test_orders.py"))
    check(tmp_path, run({"b": {}}), update=True)
    assert path.is_symlink()
    assert check(tmp_path / "real", run({"b": {}}), ci=True).passed


def test_a_folder_in_the_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    baseline_path(tmp_path / "test_orders.py").mkdir(parents=True)
    with pytest.raises(ReadError, match="can't be opened: Is a directory"):
        check(tmp_path, run({"a": {}}))


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {support!r})
from baseline_support import run, store
baselines = store(Path({folder!r}), update=True)
print("ready", flush=True)
"""


def started(folder: Path, program: str, *arguments: str) -> subprocess.Popen[str]:
    head = WRITER.format(support=str(Path(__file__).parent), folder=str(folder))
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_many_processes_that_write_one_file_lose_nothing(tmp_path: Path) -> None:
    writers = [
        started(
            tmp_path,
            f"""
            for number in range(12):
                result = baselines.check(f"test_{{number}}_of_{writer}", run({{"a": {{"n": number}}}}))
                assert result.written, result
                result = baselines.check(f"test_{{number}}_of_{writer}", run({{"a": {{"n": number + 1}}}}))
                assert result.updated, result
            """,
        )
        for writer in range(4)
    ]
    ends = [(*writer.communicate(timeout=120), writer.returncode) for writer in writers]
    assert [(errors, code) for _, errors, code in ends] == [("", 0)] * 4
    keys = parse_document(text(tmp_path), "").entries
    assert set(keys) == {f"test_{number}_of_{writer}" for number in range(12) for writer in range(4)}
    for number in range(12):
        assert store(tmp_path, ci=True).check(f"test_{number}_of_3", run({"a": {"n": number + 1}})).passed


def test_of_several_that_record_the_same_baseline_at_once_one_does(tmp_path: Path) -> None:
    """The others compare what they have with what it has recorded."""
    writers = [
        started(
            tmp_path,
            f"""
            results = [baselines_of_test.check(str(number), run({{"a": {{"n": {writer}}}}})) for number in range(20)]
            print(*(f"{{result.written}}-{{result.passed}}" for result in results))
            """.replace("baselines_of_test", "store(Path(sys.argv[1]))"),
            str(tmp_path),
        )
        for writer in range(3)
    ]
    said = [writer.communicate(timeout=120) for writer in writers]
    assert [errors for _, errors in said] == [""] * 3
    for results in zip(*(output.splitlines()[-1].split() for output, _ in said), strict=True):
        assert sorted(results) == ["False-False", "False-False", "True-True"]


def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    """Killed at random moments; the file is whole each time, and the next writer is not kept out."""
    value = "x" * 20_000
    check(tmp_path, run({"a": {"n": 0, "text": value}}))
    chance = random.Random(7)
    for turn in range(12):
        writer = started(
            tmp_path,
            f"""
            number = 0
            while True:
                number += 1
                baselines.check("test_order", run({{"a": {{"n": number, "text": {value!r}}}}}))
            """,
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(chance.random() * 0.1)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        (item,) = parse_document(text(tmp_path), "").entries["test_order"].items
        args = item.calls[0].fields["args"]
        assert (type(args["n"]), args["text"]) == (int, value)
        assert check(tmp_path, run({"a": {"n": -turn, "text": value}}), update=True).passed
    left = sorted(path.name for path in (tmp_path / "__witness__" / ".local").iterdir())
    assert left == [".gitignore", "test_orders.witness.yaml.lock"]


def test_a_lock_that_nobody_lets_go_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from filelock import FileLock

    from tracewitness.baselines import writing
    from tracewitness.baselines.locations import local_path

    check(tmp_path, run({"a": {}}))
    monkeypatch.setattr(writing, "WAIT", 0.2)
    with FileLock(local_path(store(tmp_path).path, "lock")):
        assert check(tmp_path, run({"a": {}})).passed
        with pytest.raises(UsageError, match="has been locked by another process"):
            check(tmp_path, run({"b": {}}), update=True)


def test_each_failed_run_may_differ_in_another_way(tmp_path: Path) -> None:
    """What waits to be accepted is what came last, also where what came before had fewer calls, more, or others."""
    first, second, third = ({name: {"x": 1}} for name in "abc")
    check(tmp_path, run(first, second, third))
    baseline = baseline_path(tmp_path / "test_orders.py")
    for calls in (
        [first, third],
        [first, second, third, first],
        [{"a": {"x": 2}}, second, third],
        [],
        [first, {"b": {"x": 2}}, third],
        [third],
        [first, second, {"d": {}}],
    ):
        assert not check(tmp_path, run(*calls)).passed
    assert accept(baseline) == ("test_order",)
    assert check(tmp_path, run(first, second, {"d": {}}), ci=True).passed
