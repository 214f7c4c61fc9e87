"""Blocks: which calls belong to which recording, and what a recording says."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest

from tracewitness import (
    UNANSWERED,
    Trace,
    UsageError,
    check,
    compile_checks,
    evaluate,
    expect,
    read,
    read_all,
    record,
)
from tracewitness.capture import Recording


@record.tool
def note(what: str) -> str:
    return what


@record.tool
def outer(what: str) -> str:
    return note(what) + inner(what)


@record.tool
def inner(what: str) -> str:
    return note(what)


@record.tool
async def note_later(what: str, wait: asyncio.Event | None = None) -> str:
    if wait is not None:
        await wait.wait()
    return note(what)


def noted(recording: Recording) -> list[str]:
    return [call.args["what"] for call in recording.calls if isinstance(call.args, dict)]


def in_thread(work: Callable[[], Any]) -> None:
    """Run something in a thread that is told of no context, and wait for it."""
    thread = threading.Thread(target=lambda: copy_context().run(work), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_what_is_said() -> None:
    """Messages stand where they were told, also after the block."""
    with record("order-1") as trace:
        trace.system("Be brief.")
        trace.user("Order a lamp")
        note("lamp")
        trace.transfer("billing")
        trace.agent("Done.", by="billing")
    trace.agent("Bye.")
    trace.end()
    kinds = [next(iter(event)) for event in trace.to_events()]
    assert kinds == ["system", "user", "call", "result", "transfer", "agent", "agent", "end"]
    assert trace.trace.name == "order-1"
    assert trace.calls[0].turn == 1
    assert len(trace) == len(trace.events) == 8
    assert repr(trace) == "<Recording order-1: 8 events, ended>"


@pytest.mark.parametrize("say", ["user", "agent", "system", "transfer"])
def test_what_is_said_is_text(say: str) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError, match="expected text, got 7"):
        getattr(record(), say)(7)


def test_nested_calls() -> None:
    """A tool that another tool calls is in the trace, and says in which call it was made."""
    with record() as trace:
        outer("a")
        note("b")
    calls = {call.id: (call.name, (call.metadata or {}).get("parent")) for call in trace.calls}
    assert calls == {
        "c1": ("outer", None),
        "c2": ("note", "c1"),
        "c3": ("inner", "c1"),
        "c4": ("note", "c3"),
        "c5": ("note", None),
    }
    assert not trace.problems


def test_what_changes_later() -> None:
    """Arguments and results are as they were when they were passed."""

    @record.tool
    def add(items: list[dict[str, int]]) -> list[dict[str, int]]:
        items.append({"n": 2})
        return items

    given = [{"n": 1}]
    with record() as trace:
        returned = add(given)
        returned[0]["n"] = 7
    assert trace.calls[0].args == {"items": [{"n": 1}]}
    assert trace.calls[0].result == [{"n": 1}, {"n": 2}]


# ------------------------------------------------------------------------------------------------ blocks in blocks


def test_blocks_in_blocks() -> None:
    """What is called in the inner block is in both."""
    with record("outer") as whole:
        note("a")
        with record("inner") as part:
            note("b")
        note("c")
    assert (noted(whole), noted(part)) == (["a", "b", "c"], ["b"])


def test_a_block_in_a_tool() -> None:
    """The parent is an id of the same recording."""

    @record.tool
    def delegate(what: str) -> Recording:
        with record() as part:
            note(what)
        parts.append(part)
        return part

    parts: list[Recording] = []
    with record() as whole:
        delegate("a")
    assert [call.metadata for call in whole.calls] == [None, {"parent": "c1"}]
    assert [call.metadata for call in parts[0].calls] == [None]


def test_a_recording_is_of_one_block() -> None:
    """It can't be begun again."""
    trace = record()
    with trace, pytest.raises(UsageError, match="one block"):
        trace.__enter__()
    with pytest.raises(UsageError, match="one block"), trace:
        pass


def test_async_blocks() -> None:
    """``async with`` is the same."""

    async def main() -> Recording:
        async with record() as trace:
            await note_later("a")
        await note_later("b")
        return trace

    assert noted(asyncio.run(main())) == ["a", "a"]


# ------------------------------------------------------------------------------------------------ tasks and threads


def test_tasks_at_once() -> None:
    """Calls that overlap have ids, so that each has its own result, in whatever order they come."""

    async def main() -> None:
        gates = {name: asyncio.Event() for name in "abc"}

        async def work(name: str) -> str:
            await gates[name].wait()
            return name

        tool = record.tool(work, name="work")
        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(tool(name))
            await asyncio.sleep(0)
            for name in "cab":
                gates[name].set()
                await asyncio.sleep(0)

    with record() as trace:
        asyncio.run(main())
    assert [next(iter(event)) for event in trace.to_events()] == ["call"] * 3 + ["result"] * 3
    assert [event["result"] for event in trace.to_events()[3:]] == ["c", "a", "b"]
    assert {call.args["name"]: call.result for call in trace.calls} == {"a": "a", "b": "b", "c": "c"}  # type: ignore[index]


def test_blocks_of_tasks_at_once() -> None:
    """Each task has its own block, and sees no other's calls."""

    async def run(name: str) -> list[str]:
        with record() as trace:
            for number in range(3):
                await note_later(f"{name}{number}")
                await asyncio.sleep(0)
        return noted(trace)[::2]

    async def main() -> list[list[str]]:
        return await asyncio.gather(*map(run, "abc"))

    assert asyncio.run(main()) == [[f"{name}{number}" for number in range(3)] for name in "abc"]


def test_blocks_of_threads_at_once() -> None:
    """So it is with threads."""
    together = threading.Barrier(4)

    def run(number: int) -> list[str]:
        with record() as trace:
            together.wait(10)
            for _ in range(50):
                note(str(number))
            together.wait(10)
        return noted(trace)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(4))) == [[str(number)] * 50 for number in range(4)]


def test_threads_of_a_block() -> None:
    """Every call of many threads is there once, with its own result, though the threads were told nothing."""
    with record() as trace:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: note(str(number)), range(200)))
        asyncio.run(asyncio.to_thread(note, "last"))  # type: ignore[arg-type]
    assert sorted(noted(trace)) == sorted([*map(str, range(200)), "last"])
    assert all(call.args == {"what": call.result} for call in trace.calls)
    assert len({call.id for call in trace.calls}) == 201
    assert not trace.problems


def test_a_thread_that_was_told_nothing_in_a_nested_block() -> None:
    """Blocks that stand in each other both see it."""
    with record() as whole, record() as part, ThreadPoolExecutor(1) as pool:
        pool.submit(note, "a").result()
    assert noted(whole) == noted(part) == ["a"]


def test_a_thread_of_nobody_knows_which_block() -> None:
    """Where several go on, each trace says that a call may be missing, so that nothing relies on it."""
    bans = [{"type": "tool_not_called", "tool": "note"}]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # so that its thread is told of none

        async def run(name: str) -> Recording:
            with record(name) as trace:
                trace.user("hi")
                await asyncio.sleep(0)
                if name == "a":
                    await asyncio.get_running_loop().run_in_executor(pool, note, name)
                await asyncio.sleep(0.01)
            return trace

        async def main() -> list[Recording]:
            return await asyncio.gather(run("a"), run("b"))

        traces = asyncio.run(main())
    for trace in traces:
        assert not trace.calls
        assert not check(trace, bans)[0].held
        assert "nobody knows whether it belongs here" in trace.problems[0].reason


def test_a_thread_that_was_told() -> None:
    """In a copy of the context it is known to which block it belongs."""
    with record() as first:
        context = copy_context()
    assert noted(first) == []
    with record() as other, ThreadPoolExecutor(1) as pool, record() as trace:
        here = copy_context()
        pool.submit(here.run, note, "a").result()
    assert noted(trace) == noted(other) == ["a"]
    assert context is not here


def test_what_outlives_its_block() -> None:
    """A call that has not ended is unanswered; what is called later in that context is no other block's in silence."""

    async def main() -> tuple[Recording, Recording]:
        gate = asyncio.Event()
        with record() as first:
            late = asyncio.create_task(note_later("late", gate))
            await asyncio.sleep(0)
        with record() as second:
            gate.set()
            await late
        return first, second

    first, second = asyncio.run(main())
    assert [(call.name, call.result) for call in first.calls] == [("note_later", UNANSWERED)]
    assert not second.calls
    assert "a recording that has ended" in second.problems[0].reason


def test_what_outlives_the_last_block() -> None:
    """Where nobody records any more, it is not recorded."""
    with record() as trace:
        context = copy_context()
    assert context.run(note, "late") == "late"
    assert len(trace) == 0


# ------------------------------------------------------------------------------------------ it stands for its trace


def shop() -> Recording:
    with record() as trace:
        trace.user("a lamp")
        note("lamp")
    return trace


@pytest.mark.parametrize(
    "use",
    [
        lambda recording: check(recording, [{"type": "tool_called", "tool": "note"}])[0].held,
        lambda recording: expect(recording).calls("note", what="lamp").run().passed,
        lambda recording: expect(lambda _prompt: recording).on("x").calls("note", what="lamp").run().passed,
        lambda recording: evaluate([{"tool": "note"}], recording).passed,
        lambda recording: read(recording) == recording.trace,
        lambda recording: list(read_all(recording)) == [recording.trace],
        lambda recording: list(read_all(iter([recording]))) == [recording.trace],
        lambda recording: Trace.from_events(recording.to_events()) == recording.trace,
    ],
)
def test_it_is_taken_where_a_trace_is(use: Callable[[Recording], bool]) -> None:
    """Whatever takes a trace takes a recording."""
    assert use(shop())


def test_it_grows() -> None:
    """Within the block it is what happened so far."""
    with record() as trace:
        note("a")
        before = trace.trace
        note("b")
    assert (len(before), len(trace.trace)) == (2, 4)


def test_watching() -> None:
    """Checks can be made while it happens; what came before is seen."""
    checks = compile_checks([{"type": "max_calls", "max": 2}])
    statuses = []
    with record() as trace:
        note("a")
        live = trace.watch(checks)
        for _ in range(2):
            note("b")
            statuses.append(live.verdicts()[0].status)
    assert statuses == ["held", "broken"]
    assert live.verdicts()[0].status == check(trace, checks.operators)[0].status


def test_a_block_of_nothing() -> None:
    """It is no evidence: the agent may never have run. Where something was said, it says that no tool was called."""
    with record() as silent:
        pass
    with record() as spoken:
        spoken.agent("I can't.")
    ban = [{"type": "tool_not_called", "tool": "note"}]
    assert "nothing was recorded: no tool that record.tool wraps" in check(silent, ban)[0].explain()
    assert check(spoken, ban)[0].held


def test_a_block_that_fails() -> None:
    """The exception goes on, and a run that failed is no evidence, whatever was called."""
    trace = record()
    with pytest.raises(LookupError):  # noqa: PT012, SIM117 - the block is what is tested
        with trace:
            note("a")
            raise LookupError("gone\x1b[2J")
    assert noted(trace) == ["a"]
    (verdict, _) = check(trace, [{"type": "tool_called", "tool": "note"}])
    assert not verdict.held
    assert "the run failed: LookupError: gone\\x1b[2J" in verdict.explain()
