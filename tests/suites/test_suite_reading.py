"""What a good eval file becomes: suites and cases with all that is common merged in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracewitness.errors import UsageError
from tracewitness.expectations import ToolCalled, TraceParsed
from tracewitness.suites import Case, JudgedExpectation, Place, Step, Suite, load_suite, parse_suite

REAL_FILE = Path("/work/shared/corpora/cxas-scrapi/examples/evals/simulation_eval_example.yaml")

WHOLE = """\
common_session_parameters: {channel: web, locale: en}
common_expectations:
  - Be polite.
common_tool_expectations:
  - type: trace_parsed
aliases:
  pay: [mcp__shop__pay, functions.pay]
evals:
  - name: order
    tags: [P0, orders]
    steps:
      - goal: Order a lamp
        success_criteria: It is ordered
        response_guide: You want one lamp
        max_turns: 4
        inject_variables: {basket: [lamp]}
      - static_utterance: bye
    session_parameters: {locale: de}
    max_turns: 9
    expectations:
      - title: Number
        expectation: The number is given.
    tool_expectations:
      - type: tool_called
        tool: pay
  - name: greet
"""


def suite_of(text: str) -> Suite:
    """Read a suite from YAML."""
    return parse_suite(text, source="f.yaml")


def test_every_key_is_read() -> None:
    """Each key of a simulation file arrives in the case, with what is common merged in."""
    assert suite_of(WHOLE).cases[0] == Case(
        name="order",
        place=Place(9, 5),
        tags=("P0", "orders"),
        steps=(
            Step("Order a lamp", "It is ordered", "You want one lamp", 4, inject_variables={"basket": ["lamp"]}),
            Step(static_utterance="bye"),
        ),
        session_parameters={"channel": "web", "locale": "de"},
        max_turns=9,
        expectations=(
            JudgedExpectation("Be polite."),
            JudgedExpectation("The number is given.", title="Number"),
        ),
        tool_expectations=(TraceParsed(), ToolCalled(tool="pay")),
        places=(Place(5, 5), Place(24, 9)),
        aliases={"pay": ("mcp__shop__pay", "functions.pay")},
    )


def test_what_is_common_stands_in_the_suite_too() -> None:
    """A run without a case is still checked by the common part."""
    suite = suite_of(WHOLE)
    assert suite.source == "f.yaml"
    assert suite.common_tool_expectations == (TraceParsed(),)
    assert suite.common_places == (Place(5, 5),)
    assert suite.common_expectations == (JudgedExpectation("Be polite."),)
    assert suite.common_session_parameters == {"channel": "web", "locale": "en"}
    assert suite.aliases == {"pay": ("mcp__shop__pay", "functions.pay")}
    assert suite.notices == ()


def test_a_case_with_only_a_name_gets_what_is_common() -> None:
    """A case needs nothing but a name."""
    case = suite_of(WHOLE).cases[1]
    assert (case.tags, case.steps, case.max_turns) == ((), (), None)
    assert case.tool_expectations == (TraceParsed(),)


@pytest.mark.parametrize(
    "text",
    [
        "[{name: a}, {name: b}]",
        "- name: a\n- name: b\n",
        "evals:\n- name: a\n- name: b\n",
        '{"evals": [{"name": "a"}, {"name": "b"}]}',
        '[{"name": "a"}, {"name": "b"}]',
        '\n\t{"evals":\t[\n\t\t{"name": "a"},\r\n\t\t{"name": "b"}\n\t]}\n',
        "\ufeffevals: [{name: a}, {name: b}]",
        "%YAML 1.2\n---\nevals: [{name: a}, {name: b}]\n...\n",
    ],
)
def test_cases_come_in_order_from_each_form(text: str) -> None:
    """A mapping with evals, a bare list, YAML and JSON, with tabs or a byte order mark, are the same."""
    assert [case.name for case in parse_suite(text).cases] == ["a", "b"]
    assert [case.name for case in parse_suite(text.encode()).cases] == ["a", "b"]


@pytest.mark.parametrize(
    "key", ["tags", "steps", "session_parameters", "max_turns", "expectations", "tool_expectations"]
)
def test_a_key_without_a_value_is_as_if_absent(key: str) -> None:
    """A key with nothing after it means what its absence means."""
    assert suite_of(f"- name: a\n  {key}:\n").cases == suite_of("- name: a\n").cases


def test_common_checks_alone_are_a_suite() -> None:
    """A file without cases is of use when it has checks for every run."""
    suite = suite_of("common_tool_expectations: [{type: tool_called, tool: pay}]")
    assert suite.cases == ()
    assert suite.common_tool_expectations == (ToolCalled(tool="pay"),)


def test_keys_of_other_tools_are_kept_and_named_once() -> None:
    """What belongs to another tool stays in extras; one notice names all of it with its lines."""
    suite = suite_of(
        "common_naturalness_metric: true\n"
        "evals:\n"
        "- {name: a, voice_config: {voice: x}, audio_expectations: [clear]}\n"
        "- {name: b, naturalness_metric: false}\n"
        "- {name: c, naturalness_metric: true}\n"
    )
    assert suite.notices == (
        "f.yaml: kept, but not used by tracewitness: "
        "common_naturalness_metric (line 1), voice_config (line 3), "
        "audio_expectations (line 3), naturalness_metric (lines 4, 5)",
    )
    assert suite.extras == {"common_naturalness_metric": True}
    assert suite.cases[0].extras == {"voice_config": {"voice": "x"}, "audio_expectations": ["clear"]}
    assert suite.cases[1].to_mapping() == {"name": "b", "steps": [], "naturalness_metric": False}


def test_a_long_list_of_lines_is_cut() -> None:
    """The notice stays short however many cases it speaks of."""
    suite = suite_of("".join(f"- {{name: c{number}, voice_config: 1}}\n" for number in range(9)))
    assert suite.notices == ("f.yaml: kept, but not used by tracewitness: voice_config (lines 1, 2, 3, 4, 5, …)",)


def test_anchors_are_written_out() -> None:
    """An alias stands for the value that its anchor named, keys included."""
    suite = suite_of(
        "- &first\n  name: &n a\n  session_parameters: &p {x: [1]}\n- name: b\n  session_parameters: {p: *p, *n : 2}\n"
    )
    assert suite.cases[1].session_parameters == {"p": {"x": [1]}, "a": 2}


def test_a_key_can_be_named_too() -> None:
    """An anchor on a key names its text."""
    assert suite_of("- {&key name: a, tags: [*key]}").cases[0].tags == ("name",)


def test_an_empty_key_in_quotes_is_a_key() -> None:
    """Session parameters are JSON, where a key may be empty, or be the two less-than signs."""
    case = suite_of("- {name: a, session_parameters: {'': 1, '<<': 2}}").cases[0]
    assert case.session_parameters == {"": 1, "<<": 2}


class TestToMapping:
    """The mapping that a simulation runner takes."""

    def test_it_has_what_was_written(self) -> None:
        """The test case has every key that has something in it, in a runner's form."""
        assert suite_of(WHOLE).cases[0].to_mapping() == {
            "name": "order",
            "tags": ["P0", "orders"],
            "steps": [
                {
                    "goal": "Order a lamp",
                    "success_criteria": "It is ordered",
                    "response_guide": "You want one lamp",
                    "max_turns": 4,
                    "inject_variables": {"basket": ["lamp"]},
                },
                {"static_utterance": "bye"},
            ],
            "session_parameters": {"channel": "web", "locale": "de"},
            "max_turns": 9,
            "expectations": ["Be polite.", {"title": "Number", "expectation": "The number is given."}],
            "tool_expectations": [{"type": "trace_parsed"}, {"type": "tool_called", "tool": "pay"}],
            "aliases": {"pay": ["mcp__shop__pay", "functions.pay"]},
        }

    def test_it_shares_nothing_with_the_case(self) -> None:
        """Whoever changes the mapping, at any depth, does not change the suite."""
        case = suite_of(WHOLE).cases[0]
        mapping = case.to_mapping()
        mapping["steps"][0]["inject_variables"]["basket"].append("hammer")
        mapping["session_parameters"]["channel"] = "phone"
        assert case == suite_of(WHOLE).cases[0]

    def test_reading_it_again_gives_the_same_checks(self) -> None:
        """A case's mapping, without aliases, which stand at the top of a file, is a case of a file."""
        case = suite_of(WHOLE).cases[0]
        mapping = {key: value for key, value in case.to_mapping().items() if key != "aliases"}
        again = parse_suite(json.dumps([mapping])).cases[0]
        assert again.tool_expectations == case.tool_expectations
        assert again.to_mapping() == mapping


class TestSelect:
    """Choosing some cases of a suite."""

    SUITE = "[{name: a, tags: [x, y]}, {name: b, tags: [y]}, {name: c}]"

    @pytest.mark.parametrize(
        ("names", "tags", "kept"),
        [
            ((), (), ["a", "b", "c"]),
            (["c", "a"], (), ["a", "c"]),
            ((), ["y"], ["a", "b"]),
            ((), ["x", "y"], ["a", "b"]),
            (["b", "c"], ["y"], ["b"]),
        ],
    )
    def test_names_and_tags(self, names: list[str], tags: list[str], kept: list[str]) -> None:
        """A case is kept when it has one of the names and one of the tags; the order stays the file's."""
        suite = suite_of(self.SUITE)
        chosen = suite.select(names=names, tags=tags)
        assert [case.name for case in chosen.cases] == kept
        assert chosen.source == suite.source

    @pytest.mark.parametrize(
        ("names", "tags", "problem"),
        [
            (["order-in-stok"], (), "no case 'order-in-stok' in the suite; 'order-in-stock' was meant"),
            ((), ["PO"], "no tag 'PO' in the suite; it has 'P0'"),
            (
                ["order-in-stock"],
                ["P0"],
                "f.yaml: none of the named cases has one of the tags; loosen the filter",
            ),
        ],
    )
    def test_a_filter_that_selects_nothing_is_an_error(self, names: list[str], tags: list[str], problem: str) -> None:
        """A misspelt filter must not make every check pass."""
        suite = suite_of("[{name: order-in-stock}, {name: other, tags: [P0]}]")
        with pytest.raises(UsageError) as error:
            suite.select(names=names, tags=tags)
        assert str(error.value) == problem


def test_suites_never_change() -> None:
    """A suite, a case and a step are frozen."""
    suite = suite_of(WHOLE)
    for frozen in (suite, suite.cases[0], suite.cases[0].steps[0]):
        with pytest.raises(AttributeError):
            frozen.name = "other"  # type: ignore[union-attr, misc]


def test_a_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    """The suite's source is the path as it was given."""
    file = tmp_path / "s.evals.yaml"
    file.write_bytes(b"\xef\xbb\xbfevals: [{name: caf\xc3\xa9}]\r\n")
    assert load_suite(str(file)) == load_suite(file)
    assert load_suite(file).source == str(file)
    assert load_suite(file).cases[0].name == "café"


@pytest.mark.skipif(not REAL_FILE.exists(), reason="the recorded corpora are not here")
def test_a_real_simulation_file_is_read() -> None:
    """A simulation file of another project loads as it is, without a notice."""
    suite = load_suite(REAL_FILE)
    assert [case.name for case in suite.cases] == [
        "authenticated_billing_inquiry",
        "escalation_after_failed_auth",
        "troubleshooting_flow",
        "billing_then_troubleshooting",
    ]
    assert suite.cases[0].session_parameters == {"account_id": "9820598207", "customer_id": "4444444"}
    assert [step.max_turns for step in suite.cases[3].steps] == [8, 10]
    assert all(case.expectations for case in suite.cases)
    assert suite.notices == ()
