"""What is wrong with an eval file is said in one line: where, what, and what to do."""
# ruff: noqa: E501  # the messages of the tables are whole lines

from __future__ import annotations

from pathlib import Path

import pytest

from tracewitness.errors import ExpectationError, SuiteError
from tracewitness.suites import load_suite, parse_suite

HEAD = "evals:\n  - name: a\n"

BAD_FILES: list[tuple[str, str]] = [
    # misspelt and unknown keys
    (
        HEAD + "    tool_expectation: []\n",
        "f.yaml:3:5: unknown key 'tool_expectation'; tool_expectations was meant (at $.evals[0].tool_expectation)",
    ),
    (
        HEAD + "    steps:\n      - gaol: x\n",
        "f.yaml:4:9: unknown key 'gaol'; goal was meant (at $.evals[0].steps[0].gaol)",
    ),
    (
        HEAD + "    voice_confg: 1\n",
        "f.yaml:3:5: unknown key 'voice_confg'; voice_config was meant (at $.evals[0].voice_confg)",
    ),
    (
        "common_tool_expectation: []\n" + HEAD,
        "f.yaml:1:1: unknown key 'common_tool_expectation'; common_tool_expectations was meant"
        " (at $.common_tool_expectation)",
    ),
    (
        HEAD + "    expectations: [{titel: x, expectation: y}]\n",
        "f.yaml:3:21: unknown key 'titel'; title was meant (at $.evals[0].expectations[0].titel)",
    ),
    (
        HEAD + "    expectations: [{zzz: x, expectation: y}]\n",
        "f.yaml:3:21: unknown key 'zzz'; an expectation has title, expectation (at $.evals[0].expectations[0].zzz)",
    ),
    (
        HEAD + '    "x\\ny": 1\n',
        "f.yaml:3:5: unknown key 'x\\ny'; an eval has name, tags, steps, session_parameters, max_turns,"
        " expectations, tool_expectations (at $.evals[0]['x\\ny'])",
    ),
    (
        '- {name: "é😀", tgas: []}',
        "f.yaml:1:16: unknown key 'tgas'; tags was meant (at $[0].tgas)",
    ),
    (
        "- name: a\n  session_parameters:\n    ? \n    : x\n",
        "f.yaml:3:6: a key is missing here; an empty one is written in quotes (at $[0].session_parameters)",
    ),
    # duplicates
    (
        HEAD + "    tags: [x]\n    tags: [y]\n",
        "f.yaml:4:5: duplicate key 'tags', first on line 3; keep one of the two (at $.evals[0].tags)",
    ),
    (
        HEAD + "    session_parameters: {a: 1, 'a': 1}\n",
        "f.yaml:3:32: duplicate key 'a', first on line 3; keep one of the two (at $.evals[0].session_parameters.a)",
    ),
    (
        HEAD + "    session_parameters: {a: &x [], a: *x}\n",
        "f.yaml:3:36: duplicate key 'a', first on line 3; keep one of the two (at $.evals[0].session_parameters.a)",
    ),
    (
        "evals:\n- tags: [x]\n  name: a\n- name: b\n- name: a\n",
        "f.yaml:5:3: a second case is named 'a', first on line 3; rename one of them (at $.evals[2].name)",
    ),
    # missing and empty
    ("evals:\n- tags: [x]\n", "f.yaml:2:3: an eval needs a key name with a text (at $.evals[0])"),
    ("evals:\n- tags: [x]\n  name:\n", "f.yaml:3:3: an eval needs a key name with a text (at $.evals[0])"),
    ("evals:\n- name: ' '\n", "f.yaml:2:3: expected a text that is not empty (at $.evals[0].name)"),
    (HEAD + "    tags: [x, '']\n", "f.yaml:3:15: expected a text that is not empty (at $.evals[0].tags[1])"),
    (
        HEAD + "    expectations: [{title: x}]\n",
        "f.yaml:3:20: an expectation needs a key expectation with a text (at $.evals[0].expectations[0])",
    ),
    ("evals: []\n", "f.yaml:1:1: there is nothing to check: list at least one case under evals"),
    ("evals:\n", "f.yaml:1:1: there is nothing to check: list at least one case under evals"),
    (
        "common_expectations: [x]\n",
        "f.yaml:1:1: there is nothing to check: list at least one case under evals",
    ),
    ("[]", "f.yaml:1:1: there is nothing to check: list at least one case under evals"),
    ("", "f.yaml: the file is empty; list cases under evals"),
    (" \n\t\n", "f.yaml: the file is empty; list cases under evals"),
    ("# only a comment\n", "f.yaml: the file is empty; list cases under evals"),
    ("---\n...\n", "f.yaml: the file is empty; list cases under evals"),
    # wrong types
    ("word", "f.yaml:1:1: an eval file is a mapping with evals, or a list of evals; this is the text 'word'"),
    (
        "evals: {a: 1}",
        "f.yaml:1:1: evals are a list, each item after a dash; this is a mapping with ['a'] (at $.evals)",
    ),
    (
        "evals:\n- a\n- name: b\n",
        "f.yaml:2:3: an eval is a mapping with keys such as name, tags, steps, session_parameters, max_turns,"
        " expectations, tool_expectations; this is the text 'a' (at $.evals[0])",
    ),
    (
        "[7]",
        "f.yaml:1:2: an eval is a mapping with keys such as name, tags, steps, session_parameters, max_turns,"
        " expectations, tool_expectations; this is the number '7' (at $[0])",
    ),
    ("- name: 42\n", "f.yaml:1:3: expected a text, this is the number '42'; write \"42\" (at $[0].name)"),
    ("- name: [x]\n", "f.yaml:1:3: expected a text, this is a list (at $[0].name)"),
    (
        HEAD + "    tags: P0\n",
        "f.yaml:3:5: tags are a list, each item after a dash; this is the text 'P0' (at $.evals[0].tags)",
    ),
    (
        HEAD + "    tags: [1.50]\n",
        "f.yaml:3:12: expected a text, this is the number '1.50'; write \"1.50\" (at $.evals[0].tags[0])",
    ),
    (
        HEAD + "    tags: [~]\n",
        'f.yaml:3:12: expected a text, this is nothing (null); write "~" (at $.evals[0].tags[0])',
    ),
    (
        HEAD + "    max_turns: -1\n",
        "f.yaml:3:5: expected a whole number of 0 or more; this is the number '-1' (at $.evals[0].max_turns)",
    ),
    (
        HEAD + "    max_turns: true\n",
        "f.yaml:3:5: expected a whole number of 0 or more; this is the bool 'true' (at $.evals[0].max_turns)",
    ),
    (
        HEAD + "    max_turns: 2.0\n",
        "f.yaml:3:5: expected a whole number of 0 or more; this is the number '2.0' (at $.evals[0].max_turns)",
    ),
    (
        HEAD + "    session_parameters: []\n",
        "f.yaml:3:5: expected a mapping of names and values; this is a list (at $.evals[0].session_parameters)",
    ),
    (
        HEAD + "    steps: [{goal: {}}]\n",
        "f.yaml:3:14: expected a text, this is an empty mapping (at $.evals[0].steps[0].goal)",
    ),
    (
        HEAD + "    steps: [buy]\n",
        "f.yaml:3:13: a step is a mapping with keys such as goal, success_criteria, response_guide, max_turns,"
        " static_utterance, inject_variables; this is the text 'buy' (at $.evals[0].steps[0])",
    ),
    (
        HEAD + "    expectations: [7]\n",
        "f.yaml:3:20: expected a text, this is the number '7'; write \"7\" (at $.evals[0].expectations[0])",
    ),
    (
        HEAD + "    tool_expectations: [pay]\n",
        "f.yaml:3:25: a tool expectation is a mapping with a key type; this is the text 'pay'"
        " (at $.evals[0].tool_expectations[0])",
    ),
    (
        HEAD + "    tool_expectations: {type: trace_parsed}\n",
        "f.yaml:3:5: tool expectations are a list, each item after a dash; this is a mapping with ['type']"
        " (at $.evals[0].tool_expectations)",
    ),
    # aliases
    (
        "aliases: [pay]\n" + HEAD,
        "f.yaml:1:1: aliases are a mapping from a tool to a list of its other names; this is a list (at $.aliases)",
    ),
    (
        "aliases: {pay: x}\n" + HEAD,
        "f.yaml:1:11: the other names of a tool are a list, each item after a dash; this is the text 'x' (at $.aliases.pay)",
    ),
    (
        "aliases: {pay: }\n" + HEAD,
        "f.yaml:1:11: the other names of a tool are a list, each item after a dash; this is nothing (null) (at $.aliases.pay)",
    ),
    (
        "aliases: {'': [x]}\n" + HEAD,
        "f.yaml:1:11: expected the name of a tool before the colon (at $.aliases[''])",
    ),
    ("aliases: {pay: []}\n" + HEAD, "f.yaml:1:11: expected at least one other name (at $.aliases.pay)"),
    (
        "aliases: {pay: [7]}\n" + HEAD,
        "f.yaml:1:17: expected a text, this is the number '7'; write \"7\" (at $.aliases.pay[0])",
    ),
    (
        "aliases: {pay: [pay]}\n" + HEAD,
        "f.yaml:1:17: 'pay' is given as an alias of itself; take it out (at $.aliases.pay[0])",
    ),
    (
        "aliases: {pay: [x, x]}\n" + HEAD,
        "f.yaml:1:20: 'x' is given twice; take one out (at $.aliases.pay[1])",
    ),
    (
        "aliases: {pay: [x], buy: [x]}\n" + HEAD,
        "f.yaml:1:27: 'x' is already an alias of 'pay'; one name can't stand for two tools (at $.aliases.buy[0])",
    ),
    (
        "aliases: {pay: [buy], buy: [pay]}\n" + HEAD,
        "f.yaml:1:17: 'buy' has aliases of its own on line 1; list all names under one tool (at $.aliases.pay[0])",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES)
def test_the_first_problem_is_said_precisely(text: str, message: str) -> None:
    """The error's text is one line with file, line, column, the problem and the path."""
    with pytest.raises(SuiteError) as error:
        parse_suite(text, source="f.yaml")
    assert str(error.value) == message


OPERATOR_PLACES: list[tuple[str, str, str]] = [
    ("{type: tool_caled, tool: pay}", "5:10", ".type"),
    ("{tool: pay}", "5:9", ""),
    ("{type: tool_called}", "5:9", ""),
    ("{type: tool_called, tool: pay, mim: 2}", "5:40", ".mim"),
    ("{type: tool_called, tool: pay, min: two}", "5:40", ".min"),
    ("{type: tool_called, tool: pay, args: {id: [1, {$regexx: x}]}}", "5:56", ".args.id[1]['$regexx']"),
    ("{type: followed_by, tool: pay, next: {tool: x, arg: {}}}", "5:56", ".next.arg"),
    ("{type: sequence, calls: [{tool: a}, [{tool: b}, {tol: c}]]}", "5:58", ".calls[1][1].tol"),
]


@pytest.mark.parametrize(("operator", "place", "path"), OPERATOR_PLACES)
def test_a_malformed_operator_is_shown_where_it_is(operator: str, place: str, path: str) -> None:
    """The path of an operator's error becomes a line and column; what is missing is at the operator."""
    text = f"evals:\n  - name: a\n    tool_expectations:\n      - type: trace_parsed\n      - {operator}\n"
    with pytest.raises(SuiteError) as error:
        parse_suite(text, source="f.yaml")
    assert str(error.value).startswith(f"f.yaml:{place}: ")
    assert str(error.value).endswith(f" (at $.evals[0].tool_expectations[1]{path})")


def test_all_problems_are_told_at_once() -> None:
    """The first problem of the file is the error, each other one is a note, in the order of the file."""
    text = (
        "evals:\n- name: a\n  tags: P0\n  tags: P1\n  steps: [{gaol: x}]\n  tool_expectations: [{type: nope}]\n"
        "- name: a\naliases: {x: [x]}\nevalss: 1\n"
    )
    with pytest.raises(SuiteError) as error:
        parse_suite(text, source="f.yaml")
    lines = [str(error.value), *error.value.__notes__]
    assert [line.split(": ")[0] for line in lines] == [
        "f.yaml:3:3",
        "f.yaml:4:3",
        "f.yaml:5:12",
        "f.yaml:6:24",
        "f.yaml:7:3",
        "f.yaml:8:15",
        "f.yaml:9:1",
    ]


def test_a_flood_of_problems_is_cut() -> None:
    """At most twenty further problems are shown, and how many there are."""
    with pytest.raises(SuiteError) as error:
        parse_suite("".join(f"- {{name: c{number}, x: 1}}\n" for number in range(50)), source="f.yaml")
    assert len(error.value.__notes__) == 21
    assert error.value.__notes__[-1] == "f.yaml: and 29 more problems"


def test_a_shared_value_is_wrong_once() -> None:
    """A value that anchors put in several places is reported at its one place, once."""
    with pytest.raises(SuiteError) as error:
        parse_suite("- {name: a, steps: &s [{gaol: x}]}\n- {name: b, steps: *s}\n", source="f.yaml")
    assert str(error.value).startswith("f.yaml:1:25: unknown key 'gaol'")
    assert not hasattr(error.value, "__notes__")


def test_the_error_knows_its_parts() -> None:
    """Programs find source, line, column, path and problem without parsing the text."""
    with pytest.raises(ExpectationError) as caught:
        parse_suite("- name: a\n  tgas: []\n", source="f.yaml")
    error = caught.value
    assert isinstance(error, SuiteError)
    assert (error.source, error.line, error.column, error.path) == ("f.yaml", 2, 3, (0, "tgas"))
    assert error.problem == "unknown key 'tgas'; tags was meant"


BAD_YAML: list[tuple[str, str]] = [
    ("evals: [{name: a}", "1:18"),
    ("evals: 'x", "1:10"),
    ("evals:\n- name: a\n b: c\n", "3:2"),
    ("evals:\n\t- name: a\n", "2:1"),
    ("evals: a: b\n", "1:9"),
    ("evals: @x\n", "1:8"),
    ("evals: *x\n", "1:8"),
    ("evals: &x [*x]\n", "1:12"),
    ("evals: &x a\nb: &x [*x]\n", "2:8"),
    ("- name: a\n---\n- name: b\n", "2:1"),
    ("- name: a\n  <<: {tags: [x]}\n", "2:3"),
    ("- {name: a, : x}\n", "1:13"),
    ("- {name: a, [x]: y}\n", "1:13"),
    ("- {name: a, {x: y}: z}\n", "1:13"),
    ("- name: &n [a]\n  *n : x\n", "2:3"),
    ("- name: a\x00\n", "1:10"),
    ('- name: "caf\u00e9 \U0001f600" \x07\n', "1:18"),
    ('- name: "\\ud800"\n', "1:12"),
    ("- name: \ud800\n", "1:9"),
    ("%FOO\n---\n- a\n", "1:5"),
]


@pytest.mark.parametrize(("text", "place"), BAD_YAML)
def test_text_that_is_not_yaml_is_shown_where_it_breaks(text: str, place: str) -> None:
    """Syntax errors, and what an eval file can't hold, are one line with the place."""
    with pytest.raises(SuiteError) as error:
        parse_suite(text, source="f.yaml")
    assert str(error.value).startswith(f"f.yaml:{place}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("unusual", ["\u2028", "\u0085", "\u2029"])
def test_lines_are_counted_as_editors_do(unusual: str) -> None:
    """A rare line break inside a text does not move the lines after it."""
    with pytest.raises(SuiteError) as error:
        parse_suite(f"- name: 'a{unusual}b'\n  tgas: []\n", source="f.yaml")
    assert (error.value.line, error.value.column) == (2, 3)


BAD_JSON: list[tuple[str, str]] = [
    (
        '{"evals": [{"name": "a"}',
        "1:25: not valid JSON: expected a comma or ], but the file ends; is it complete?",
    ),
    ('{"evals": [{"name": "a"},]}', "1:26: not valid JSON: expected a value, but found ']'"),
    ('{"evals": [{"name": "a" "tags": []}]}', "1:25: not valid JSON: expected a comma or }, but found '\"'"),
    ('{"evals": [{"name": "a}]}', "1:21: not valid JSON: unterminated string"),
    ('{"evals": [{"name": "a\nb"}]}', "1:23: not valid JSON: invalid control character"),
    ('{"evals": [{"name": "\\x"}]}', "1:22: not valid JSON: invalid \\escape"),
    ('{"evals": [{"name": "\\u12"}]}', "1:23: not valid JSON: invalid \\uXXXX escape"),
    ('{"evals": [{name: "a"}]}', "1:13: not valid JSON: expected a key in double quotes, but found 'name'"),
    ('{"evals": [{"name": \'a\'}]}', '1:21: not valid JSON: expected a value, but found "\'"'),
    ('{"evals" [1]}', "1:10: not valid JSON: expected a colon after the key, but found '['"),
    ('{"evals": [NaN]}', "1:12: not valid JSON: expected a value, but found 'NaN'"),
    ('{"evals": [-Infinity]}', "1:12: not valid JSON: expected a value, but found '-Infinity'"),
    ('{"evals": [007]}', "1:13: not valid JSON: expected a comma or ], but found '07'"),
    ('{"evals": [+1]}', "1:12: not valid JSON: expected a value, but found '+1'"),
    ('[{"name": "a"}] x', "1:17: not valid JSON: expected the end of the file, but found 'x'"),
    ('[{"name": "a"}]\n[{"name": "b"}]', "2:1: not valid JSON: expected the end of the file, but found '['"),
    ("evals: []", "1:1: not valid JSON: expected a value, but found 'evals'"),
    ("// c\n[]", "1:1: not valid JSON: expected a value, but found '/'"),
    (
        '[{"name": "a", "tags": [1e999]}]',
        "1:25: '1e999' is too large for a number; put it in quotes (at $[0].tags[0])",
    ),
    ('[{"name": "\\ud83d"}]', "1:11: half of a surrogate pair is no character; take it out (at $[0].name)"),
    (
        '\n[\n\t{"name": "a",\n\t "name": "b"}]',
        "4:3: duplicate key 'name', first on line 3; keep one of the two (at $[0].name)",
    ),
    (
        '[\r\n {"name": "a"},\r\n {"name": "a"}]',
        "3:3: a second case is named 'a', first on line 2; rename one of them (at $[1].name)",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_JSON)
def test_json_errors_have_places_too(text: str, message: str) -> None:
    """In a file that ends in .json only JSON is accepted, and each problem has line and column."""
    with pytest.raises(SuiteError) as error:
        parse_suite(text, source="f.JSON")
    assert str(error.value) == f"f.JSON:{message}"


def test_json_keeps_big_numbers_and_pairs() -> None:
    """Integers of any size, floats and surrogate pairs keep their value."""
    text = '[{"name": "\\ud83d\\ude00", "session_parameters": {"a": 123456789012345678901234567890, "b": -1.5e-3, "c": -0}}]'
    case = parse_suite(text, source="f.json").cases[0]
    assert case.name == "😀"
    assert case.session_parameters == {"a": 123456789012345678901234567890, "b": -0.0015, "c": 0}
    assert [type(value) for value in case.session_parameters.values()] == [int, float, int]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{\n\t"evals": [{"name": "a"}',
            "2:25: not valid JSON: expected a comma or ], but the file ends; is it complete?",
        ),
        ("{evals: [{name: a}, {name: }]", "1:30: not valid YAML: did not find expected ',' or '}'"),
    ],
)
def test_of_json_and_yaml_the_nearer_one_speaks(text: str, message: str) -> None:
    """A text that is neither is judged as what it resembles more."""
    with pytest.raises(SuiteError) as error:
        parse_suite(text, source="f")
    assert str(error.value).startswith(f"f:{message}")


class TestFiles:
    """Files that can't be opened or decoded."""

    def test_missing(self, tmp_path: Path) -> None:
        """A missing file is said to be missing."""
        with pytest.raises(SuiteError) as error:
            load_suite(tmp_path / "none.yaml")
        assert str(error.value) == f"{tmp_path}/none.yaml: there is no such file; check the path"

    def test_folder(self, tmp_path: Path) -> None:
        """A folder is not a file."""
        with pytest.raises(SuiteError) as error:
            load_suite(tmp_path)
        assert str(error.value) == f"{tmp_path}: this is a folder; name the eval file in it"

    @pytest.mark.parametrize("name", ["x\0y", "f.yaml/x", "n" * 5_000])
    def test_other_reasons(self, tmp_path: Path, name: str) -> None:
        """Whatever else the system says comes as one line."""
        (tmp_path / "f.yaml").touch()
        with pytest.raises(SuiteError) as error:
            load_suite(f"{tmp_path}/{name}")
        assert "the file can't be opened: " in str(error.value)
        assert str(error.value).isprintable()

    def test_not_utf_8(self) -> None:
        """The place of the first byte that is no UTF-8 is shown."""
        with pytest.raises(SuiteError) as error:
            parse_suite("- name: a\n  tags: [größe, ".encode() + b"\xff]\n", source="f.yaml")
        assert str(error.value) == "f.yaml:2:17: not UTF-8 from here; save the file as UTF-8"

    def test_utf_16(self) -> None:
        """Another encoding is not guessed."""
        with pytest.raises(SuiteError) as error:
            parse_suite("- name: a\n".encode("utf-16"), source="f.yaml")
        assert str(error.value) == "f.yaml:1:1: not UTF-8 from here; save the file as UTF-8"

    def test_a_source_can_not_forge_lines(self) -> None:
        """A file's name is shown escaped."""
        with pytest.raises(SuiteError) as error:
            parse_suite("", source="a\nb\x1b[31m.yaml")
        assert str(error.value) == "a\\nb\\x1b[31m.yaml: the file is empty; list cases under evals"
