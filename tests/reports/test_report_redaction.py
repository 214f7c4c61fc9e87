"""What is hidden is hidden in every form of the report, and in the words that are about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from report_support import Answer, command, entries

from tracewitness.hidden_values import HiddenValues
from tracewitness.redaction import HIDDEN, Redaction
from tracewitness.reports.document import DifferenceEntry, JudgedEntry
from tracewitness.reports.json_file import json_line
from tracewitness.reports.redacting import redacted_run

CUSTOMER = "CUST-0042731-QX"
KEY = "sk-abcdefghijklmnopqrstuvwxyz123456"
SUITE = f"""
evals:
  - name: pay
    tool_expectations:
      - {{type: tool_called, tool: pay, args: {{customer: somebody, sum: 5}}}}
      - {{type: tool_output, tool: pay, result: {{owner: nobody}}}}
      - {{type: args_from, tool: pay, args: {{customer: [user]}}}}
      - {{type: tool_called, tool: pay, args: {{customer: {CUSTOMER}, sum: 7}}}}
      - {{type: no_other_tools, tools: [pay], reason: not {KEY}}}
"""
EVENTS: list[Any] = [
    {"user": "pay, please"},
    {"call": "pay", "args": {"customer": CUSTOMER, "sum": 6, "password": "hunter2!"}, "id": "1"},
    {"result": {"result": {"owner": CUSTOMER, "token": "t0p-s3cret"}}, "id": "1"},
    {"agent": f"Paid for {CUSTOMER} with {KEY}."},
    {"call": "log", "args": {"text": "x"}},
]
ALL = ("--json", "--html", "--junit", "--markdown", "--csv")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("suite.evals.yaml").write_text(SUITE, "utf-8")

    def call(*arguments: str) -> Answer:
        return command(monkeypatch, capfd, *arguments)

    return call


def files(prefix: str) -> list[str]:
    return [argument for option in ALL for argument in (option, f"{prefix}{option[1:]}")]


def contents(prefix: str) -> dict[str, str]:
    """Return all files that were written, the page's packed runs unpacked."""
    found = {option: Path(f"{prefix}{option[1:]}").read_text("utf-8") for option in ALL}
    return found | {"unpacked": unpacked(found["--html"])}


def unpacked(page: str) -> str:
    """Return what is packed in a page."""
    import base64
    import re
    import zlib

    pieces = re.findall(r'<script type="text/plain"[^>]*>([A-Za-z0-9+/=\s]+)</script>', page)
    assert pieces
    return "".join(zlib.decompress(base64.b64decode(piece), wbits=47).decode() for piece in pieces)


def test_every_form(run: Any) -> None:
    """Values by path, known secrets, and both in justifications, differences, and what was said."""
    import json

    Path("runs.json").write_text(json.dumps([{"name": "pay", "events": EVENTS}]), "utf-8")
    hiding = ("--redact", "args.customer", "--redact", "result.**.owner")
    answer = run("check", "suite.evals.yaml", "runs.json", *files("hidden"), *hiding)
    assert answer.status == 1
    told = {**contents("hidden"), "console": answer.out}
    for secret in (CUSTOMER, KEY, "hunter2!", "t0p-s3cret"):
        assert [form for form, text in told.items() if secret in text] == []
    for form in ("console", "--json", "--junit", "--markdown", "--csv"):
        assert "redacted" in told[form]


def test_a_report_can_be_redacted_later(run: Any) -> None:
    """`report --redact` hides more than was hidden when the report was written."""
    import json

    Path("runs.json").write_text(json.dumps([{"name": "pay", "events": EVENTS}]), "utf-8")
    run("check", "suite.evals.yaml", "runs.json", "--json", "plain.json", "--no-redact-secrets")
    plain = Path("plain.json").read_text("utf-8")
    assert all(secret in plain for secret in (CUSTOMER, KEY, "hunter2!"))
    run("report", "plain.json", *files("later"), "--redact", "args.customer", "--redact", "result.**.owner")
    for secret in (CUSTOMER, KEY, "hunter2!", "t0p-s3cret"):
        assert [form for form, text in contents("later").items() if secret in text] == []
    shown = run("compare", "plain.json", "plain.json", "--as", "json", "--redact", "args.customer").out
    assert CUSTOMER not in shown


def test_checks_are_the_same() -> None:
    """Hiding changes what is shown, not what is found."""
    (shown,), (hidden,) = (
        entries(("pay", EVENTS), suite=SUITE, redaction=redaction)
        for redaction in (Redaction.none(), Redaction(["args", "result", "user", "agent"]))
    )
    assert [each.status for each in shown.verdicts] == [each.status for each in hidden.verdicts]
    assert [each.evidence for each in shown.verdicts] == [each.evidence for each in hidden.verdicts]
    assert len(shown.events or []) == len(hidden.events or [])


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("got 'abcdef' here", "abcdef", f"got '{HIDDEN}' here"),
        ("the pin is '12'", "12", f"the pin is '{HIDDEN}'"),
        ("12 calls", "12", "12 calls"),
        ("event 4711 of 4711", 4711, f"event {HIDDEN} of {HIDDEN}"),
        ("47110 is another", 4711, "47110 is another"),
        ("47110 is another", "4711", f"{HIDDEN}0 is another"),
        ("it was abc…", "abcdef", "it was abc…"),
        ("it was abcd…", "abcdef", HIDDEN),
        ("it was …cdef", "abcdef", HIDDEN),
        ("says it's\\nmine", "it's\nmine", f"says {HIDDEN}"),
        ("a long one: 0123456789ab", "0123456789abcdefghij", HIDDEN),
        ("true and null", True, "true and null"),
    ],
)
def test_words_about_hidden_values(text: str, value: Any, shown: str) -> None:
    """A value is found whole, quoted, escaped and cut; short ones only in quotes."""
    before, after = [{"call": "a", "args": {"x": value}}], [{"call": "a", "args": {"x": HIDDEN}}]
    assert HiddenValues(before, after, Redaction()).text(text) == shown


@pytest.mark.parametrize(
    ("expected", "actual", "text"),
    [
        ("5551234", "5559876", "args.phone: expected [redacted], got [redacted]"),
        (5551234, [5559876, {"of": "5559876"}], "args.phone: expected [redacted], got [redacted]"),
        ({"number": 1}, None, "args.phone: expected [redacted], but it is missing"),
    ],
)
def test_differences_by_path(expected: Any, actual: Any, text: str) -> None:
    """What was expected at a hidden place is hidden as well, and the line still says that the two differ."""
    suite = f"[{{name: pay, tool_expectations: [{{type: tool_called, tool: pay, args: {{phone: {expected!r}}}}}]}}]"
    args = {} if actual is None else {"phone": actual}
    (run,) = entries(("pay", [{"call": "pay", "args": args}]), suite=suite, redaction=Redaction(["args.phone"]))
    near = run.verdicts[0].near_miss
    assert near is not None
    assert [difference.text for difference in near.differences][:1] == [text]
    assert "555" not in json_line(run)


def test_hidden_values_in_plain_data() -> None:
    """At every depth, in keys and values; numbers as numbers."""
    before = [{"call": "a", "args": {"n": 5551234, "t": "secret text", "json": '{"pin": "73911"}'}}]
    after = [{"call": "a", "args": {"n": HIDDEN, "t": HIDDEN, "json": '{"pin": "[redacted]"}'}}]
    hidden = HiddenValues(before, after, Redaction())
    value = {"secret text": [5551234, "the secret text", True, None, 5, "pin 73911"]}
    assert hidden.value(value) == {HIDDEN: [HIDDEN, f"the {HIDDEN}", True, None, 5, f"pin {HIDDEN}"]}


@given(value=st.text(min_size=4, max_size=60), before=st.text(max_size=10), after=st.text(max_size=10))
def test_no_text_shows_a_hidden_value(value: str, before: str, after: str) -> None:
    """Wherever it stands in a text."""
    hidden = HiddenValues([{"args": {"x": [value]}}], [{"args": {"x": HIDDEN}}], Redaction.none())
    assert value in HIDDEN or value not in hidden.text(f"{before}{value}{after}").replace(HIDDEN, "\0")


@pytest.mark.parametrize("path", ["args.customer", "args.customer.id", "args['customer']", "args..odd[", ""])
def test_differences_of_a_report_are_hidden_by_their_path(path: str) -> None:
    """Where it can't be told what a difference is about, it is hidden."""
    (run,) = entries(("pay", EVENTS), suite=SUITE, redaction=Redaction.none())
    near = run.verdicts[0].near_miss
    assert near is not None
    difference = DifferenceEntry(path, "because", f"{path}: expected 'AAAA', got 'BBBB'", "AAAA", "BBBB")
    near = structs.replace(near, differences=(difference,))
    changed = structs.replace(run, verdicts=(structs.replace(run.verdicts[0], near_miss=near),))
    text = json_line(redacted_run(changed, Redaction(["args.customer"])))
    assert ("AAAA" in text or "BBBB" in text) is (path == "")


def test_what_a_judge_says_is_redacted_too() -> None:
    """A model repeats what it has read."""
    (run,) = entries(("pay", EVENTS), suite=SUITE, redaction=Redaction.none())
    run = structs.replace(run, judged=(JudgedEntry("polite", "Met", f"It said {CUSTOMER}."),), error=f"by {CUSTOMER}")
    hidden = redacted_run(run, Redaction(["args.customer"]))
    assert hidden.judged[0].justification == f"It said {HIDDEN}."
    assert hidden.error == f"by {HIDDEN}"


def test_what_is_hidden_at_one_place_is_hidden_at_all(run: Any) -> None:
    """Repeated in other arguments, in results, keys, texts of JSON and addresses, as a number, in capitals."""
    import json

    email, number = "Ana+1@Example.org", 55512340
    events = [
        {"user": f"I am {email.lower()}"},
        {"call": "pay", "args": {"customer": email, "phone": number, "copy": [{"of": email}], email: 1}, "id": "1"},
        {"result": {"link": "https://x.example/?m=Ana%2B1%40Example.org", "text": json.dumps({"m": email})}, "id": "1"},
        {"call": "log", "args": {"phones": [number, str(number)], "kept": 7}, "id": "2"},
        {"result": f"<a>{email}</a> was called at {number}", "id": "2", "is_error": True},
    ]
    Path("runs.json").write_text(json.dumps([{"name": "pay", "events": events}]), "utf-8")
    answer = run("check", "suite.evals.yaml", "runs.json", *files("at"), *("--redact", "args.{customer,phone}"))
    assert answer.status == 2, "a pattern that can't be read hides nothing, so nothing is written"
    hiding = ("--redact", "args.customer", "--redact", "args.phone")
    run("check", "suite.evals.yaml", "runs.json", *files("at"), *hiding)
    run("check", "suite.evals.yaml", "runs.json", "--json", "plain.json")
    run("report", "plain.json", *files("later"), *hiding)
    for told in (contents("at"), contents("later")):
        for secret in ("example.org", "ana", str(number)):
            assert [form for form, text in told.items() if form != "--html" and secret in text.lower()] == []
        assert '"kept":7' in told["unpacked"]


def test_keys_that_become_one_are_told_apart() -> None:
    """Nothing is lost where a key is hidden."""
    hidden = HiddenValues([{"args": ["secret one", "secret two"]}], [{"args": [HIDDEN, HIDDEN]}], Redaction())
    shown = hidden.event({"result": {"secret one": 1, "secret two": 2, HIDDEN: 3}})
    assert shown == {"result": {HIDDEN: 1, f"{HIDDEN} (2)": 2, f"{HIDDEN} (3)": 3}}


def test_events_still_find_each_other() -> None:
    """Names of tools, ids and times are kept, and so are single characters, which tell nothing."""
    hidden = HiddenValues([{"args": ["c-71", 3, "x"]}], [{"args": [HIDDEN] * 3}], Redaction())
    event = {"call": "c-71", "args": {"n": 3, "x": "x", "t": True, "none": None}, "id": "c-71", "at": 3}
    assert hidden.event(event) == event


def test_rows_of_a_simulation_are_redacted(run: Any) -> None:
    """What a row says itself of its checks, its judge's votes and its models, with a trace and without one."""
    import json

    said = f"args.customer: expected 'x', got '{CUSTOMER}'"
    row = {
        "name": "pay",
        "passed": False,
        "trace": EVENTS,
        "usage": {"api_key": "hunter2hunter2", "of": CUSTOMER},
        "traceback": f"ValueError: {CUSTOMER}",
        "step_details": [{"goal": "pay", "status": "Completed", "justification": said}],
        "expectation_details": [
            {"expectation": "[tool] tool_called pay", "operator": "tool_called", "status": "Not Met"}
            | {"justification": said},
            {"expectation": "polite", "status": "Met", "justification": said, "votes": [{"why": said}]},
        ],
    }
    rows = [row, {key: value for key, value in row.items() if key != "trace"}]
    Path("rows.json").write_text(json.dumps(rows), "utf-8")
    run("report", "rows.json", *files("rows"), "--redact", "args.customer")
    run("report", "rows.json", "--json", "plain.json", "--no-redact-secrets")
    assert CUSTOMER in Path("plain.json").read_text("utf-8")
    run("report", "plain.json", *files("later"), "--redact", "args.customer")
    for told in (contents("rows"), contents("later")):
        for secret in (CUSTOMER, "hunter2hunter2"):
            assert [form for form, text in told.items() if secret in text] == []


def test_names_of_runs_are_redacted_wherever_they_stand(run: Any) -> None:
    """In the counts and the notes as well, at once and later; what was equal stays so."""
    import json

    rows = [{"name": name, "events": EVENTS} for name in (f"with {KEY}", f"of {CUSTOMER}", "pay", f"of {CUSTOMER}")]
    Path("runs.json").write_text(json.dumps(rows), "utf-8")
    hiding = ("--redact", "args.customer")
    answer = run("check", "suite.evals.yaml", "runs.json", *files("at"), *hiding)
    quiet = run("check", "suite.evals.yaml", "runs.json", *hiding)
    run("check", "suite.evals.yaml", "runs.json", "--json", "plain.json", "--no-redact-secrets")
    run("report", "plain.json", *files("later"), *hiding)
    written = {f"{prefix} {form}": text for prefix in ("at", "later") for form, text in contents(prefix).items()}
    for secret in (KEY, CUSTOMER):
        assert [form for form, text in written.items() if secret in text] == []
        assert secret not in answer.out + quiet.out
    for prefix in ("at", "later"):
        summary = json.loads(Path(f"{prefix}-json").read_text("utf-8"))["summary"]
        assert summary["without_case"] == [f"with {HIDDEN}", f"of {HIDDEN}"]
        assert [(case["name"], case["runs"]) for case in summary["cases"]] == [
            *((f"with {HIDDEN}", 1), (f"of {HIDDEN}", 2), ("pay", 1))
        ]


def test_words_do_not_quote_what_was_expected_at_a_hidden_place() -> None:
    """The eval file's value would tell what the agent was to say."""
    suite = (
        "[{name: pay, tool_expectations: [{type: sequence, mode: in_order, calls: [{tool: pay, args: {pin: ab}}]}]}]"
    )
    (run,) = entries(("pay", [{"call": "pay", "args": {"pin": "cd"}}]), suite=suite, redaction=Redaction(["args.pin"]))
    told = json_line(run)
    assert "'ab'" not in told
    assert "'cd'" not in told
    assert HIDDEN in run.verdicts[0].justification
