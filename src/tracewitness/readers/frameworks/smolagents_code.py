"""Find out which tools the code of an agent called, by reading the code. Nothing of it is ever run.

Agents that act by code keep the code, and that it ran to its end or which statement failed; they don't keep the calls
in it. Hence a call is known where it stands in a statement that ran, once and whatever its values were, and it is not
known how often a call was made that stands in a loop, under a condition, or in a function. Code that does anything with
a tool but call it by its name may have called it anywhere.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

__all__ = ["CodeCall", "CodeReader"]

FINAL_ANSWER: Final = "final_answer"
_LONGEST: Final = 100_000
# What the interpreter knows beside Python's own names.
_MATHEMATICS: Final = {
    *("acos", "asin", "atan", "atan2", "ceil", "cos", "degrees", "exp", "floor", "log", "radians", "sin", "sqrt", "tan")
}
_KNOWN: Final = frozenset({*dir(builtins), *_MATHEMATICS})
# By these, anything can be reached without its name.
_BACK_DOORS: Final = frozenset({"__import__", "compile", "eval", "exec", "globals", "locals", "vars"})
_BACK_DOOR_MODULES: Final = frozenset({"__main__", "builtins", "gc", "importlib", "inspect", "sys"})
# Statements all of whose expressions are worked out, once, where they run at all.
_SIMPLE: Final = (ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Delete, ast.Expr)
_MANY_TIMES: Final = (ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.ListComp, ast.SetComp)
_FAILED: Final = "Code execution failed at line '"
_NOT_LITERAL: Final = object()


class CodeCall(NamedTuple):
    """A call that code made.

    Attributes:
        name: of the tool.
        arguments: a mapping, or the text of the call where its values are not in the code.
        gives_output: whether what it returned is the output of the code.
        failed: whether it is what the code failed at.
    """

    name: str
    arguments: Any
    gives_output: bool = False
    failed: bool = False


class CodeReader:
    """Reads the pieces of code of one agent, in order: what one defines, the next ones know.

    Arguments:
        tools: the names of the arguments of each tool; None where the tools are not known. Then a name that the code
            calls and neither it nor Python defines is one.

    >>> CodeReader({"search": ("q",)}).calls("print(search('lamp'))")
    ([CodeCall(name='search', arguments={'q': 'lamp'}, gives_output=False, failed=False)], True)
    """

    def __init__(self, tools: Mapping[str, Sequence[str]] | None) -> None:
        self._names = _Names(tools)

    def calls(self, code: str, error: str | None = None) -> tuple[list[CodeCall], bool]:
        """Return the calls that a piece of code made, and whether those are all.

        Arguments:
            code: as it was run.
            error: what the interpreter said where the code failed.
        """
        source = _Source(code)
        tree = source.parsed()
        if tree is None:
            return [], False
        self._names.know(tree)
        walk = _Walk(source, self._names)
        walk.all_known = not any(map(self._names.may_reach_anything, ast.walk(tree)))
        try:
            walk.read(_ran(source, tree.body, error))
        except RecursionError:  # a sum of a thousand parts, say
            return [], False
        return walk.calls, walk.all_known


class _Names:
    """What the names in an agent's code stand for."""

    def __init__(self, tools: Mapping[str, Sequence[str]] | None) -> None:
        self._tools = tools
        self._defined: set[str] = set()
        self._changed_by_functions: set[str] = set()
        self.constants: dict[str, Any] = {}

    def know(self, tree: ast.AST) -> None:
        """Take in the names that a piece of code defines."""
        self._defined |= set(_names_defined(tree))
        changed = (node.names for node in ast.walk(tree) if isinstance(node, ast.Global))
        self._changed_by_functions.update(name for names in changed for name in names)

    def is_tool(self, name: str) -> bool:
        """Whether it is that of a tool."""
        if self._tools is not None:
            return name in self._tools or name == FINAL_ANSWER
        return name == FINAL_ANSWER or not (name in self._defined or name in _KNOWN)

    def arguments_of(self, tool: str) -> Sequence[str]:
        """Return what a tool's arguments are called, as far as it is known."""
        names = None if self._tools is None else self._tools.get(tool)
        return names or (("answer",) if tool == FINAL_ANSWER else ())

    def remember(self, statement: ast.stmt) -> None:
        """Remember the value that a statement gives a name, where that is written in it and can't change by itself."""
        self.forget([statement])
        if isinstance(statement, ast.Assign):
            value = _literal(statement.value, self.constants)
            names = {name.id for name in statement.targets if isinstance(name, ast.Name)} - self._changed_by_functions
            if isinstance(value, (str, int, float, type(None))):
                self.constants.update(dict.fromkeys(names, value))

    def forget(self, statements: Iterable[ast.stmt]) -> None:
        """Forget the values of the names that statements may have changed."""
        for name in {*self._changed_by_functions, *(name for part in statements for name in _names_defined(part))}:
            self.constants.pop(name, None)

    def may_reach_anything(self, node: ast.AST) -> bool:
        """Whether a part of code has a way to a tool that does not show, or gives its name to something else."""
        if isinstance(node, ast.Attribute):
            return node.attr.startswith("__")
        if isinstance(node, ast.Name):
            return node.id in _BACK_DOORS or (not isinstance(node.ctx, ast.Load) and self.is_tool(node.id))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return self.is_tool(node.name)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in _BACK_DOOR_MODULES:
            return True
        imported = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        return any(name.name == "*" or name.name.partition(".")[0] in _BACK_DOOR_MODULES for name in imported)


class _Source:
    """A piece of code."""

    def __init__(self, code: str) -> None:
        self._code = _with_plain_newlines(code)
        self._lines = self._code.encode("utf-8", "surrogatepass").split(b"\n")

    def parsed(self) -> ast.Module | None:
        """Return its tree; None where it is no code, or is longer than anybody writes."""
        if len(self._code) > _LONGEST:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of odd escapes and comparisons, which are not ours
                return ast.parse(self._code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def of(self, node: ast.expr | ast.stmt) -> str:
        """Return how a part of it is written. `ast.get_source_segment` goes through all the code for each."""
        begin, end = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        lines = self._lines[begin : end + 1]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode("utf-8", "replace")


def _with_plain_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _names_defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name


class _Ran(NamedTuple):
    """What of code ran.

    Attributes:
        done: the statements that ran to their end.
        failed: the one that failed.
        unknown: those of which it is not known.
    """

    done: list[ast.stmt]
    failed: ast.stmt | None = None
    unknown: Sequence[ast.stmt] = ()


def _ran(source: _Source, body: list[ast.stmt], error: str | None) -> _Ran:
    """Find out what of code ran. The interpreter shows the statement that failed; another may have the same words."""
    if error is None:
        return _Ran(body)
    shown = _with_plain_newlines(error).removeprefix(_FAILED)
    is_shown = error.startswith(_FAILED)
    failed = [
        number for number, part in enumerate(body) if is_shown and shown.startswith(f"{source.of(part)}' due to: ")
    ]
    return _Ran(body[: failed[0]], body[failed[0]]) if len(failed) == 1 else _Ran([], unknown=body)


class _Walk:
    """Goes through statements in the order in which they run.

    Attributes:
        calls: those that were made.
        all_known: whether there were no others.
    """

    def __init__(self, source: _Source, names: _Names) -> None:
        self.calls: list[CodeCall] = []
        self.all_known = True
        self._source = source
        self._names = names

    def read(self, ran: _Ran) -> None:
        """Add the calls of code."""
        for statement in ran.done:
            self._statement(statement)
            self._names.remember(statement)
        if any(call.name == FINAL_ANSWER for call in self.calls):
            self._end_at_answer(ran.failed is not None)
        elif ran.failed is not None:
            self._read_failed(ran.failed)
        elif ran.done and self.calls and self._direct_call(ran.done[-1]) is not None:
            self.calls[-1] = self.calls[-1]._replace(gives_output=True)
        self._unknown(ran.unknown)
        self._names.forget(ran.unknown)

    def _read_failed(self, statement: ast.stmt) -> None:
        """Read a statement that failed: where it is a call and nothing else, that is what failed."""
        call = self._direct_call(statement)
        made = None if call is None else self._made(call)
        if made is not None and isinstance(made.arguments, dict):
            self.calls.append(made._replace(failed=True))
        else:
            self._unknown([statement])
        self._names.forget([statement])

    def _end_at_answer(self, goes_on: bool) -> None:
        """Leave out what stands behind the answer, with which code ends unless an interpreter does otherwise."""
        count = 1 + next(number for number, call in enumerate(self.calls) if call.name == FINAL_ANSWER)
        self.all_known = self.all_known and not goes_on and count == len(self.calls)
        del self.calls[count:]

    def _direct_call(self, statement: ast.stmt) -> ast.Call | None:
        """Return the call of a tool that a statement is, or whose value it gives a name."""
        is_named = isinstance(statement, ast.Assign) and all(isinstance(name, ast.Name) for name in statement.targets)
        value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        is_direct = isinstance(statement, ast.Expr) or is_named
        return value if is_direct and isinstance(value, ast.Call) and self._tool_of(value) else None

    def _tool_of(self, call: ast.Call) -> str:
        return call.func.id if isinstance(call.func, ast.Name) and self._names.is_tool(call.func.id) else ""

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, _SIMPLE):
            value = getattr(node, "value", None)
            self._expressions([value] if value else [])
            self._expressions(child for child in ast.iter_child_nodes(node) if child is not value)
        elif isinstance(node, ast.If):
            self._expressions([node.test])
            self._unknown([*node.body, *node.orelse])
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._expressions([node.iter])
            self._unknown([node.target, *node.body, *node.orelse])
        else:
            self._unknown([node])

    def _expressions(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self._expression(node)

    def _expression(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call) and self._tool_of(node):
            self._expressions([*node.args, *(keyword.value for keyword in node.keywords)])
            self.calls.append(self._made(node))
        elif isinstance(node, ast.IfExp):
            self._expression(node.test)
            self._unknown([node.body, node.orelse])
        elif isinstance(node, ast.BoolOp):
            self._expression(node.values[0])
            self._unknown(node.values[1:])
        elif isinstance(node, ast.Compare):
            self._expressions([node.left, node.comparators[0]])
            self._unknown(node.comparators[1:])
        elif isinstance(node, ast.Dict):
            self._expressions(part for pair in zip(node.keys, node.values, strict=True) for part in pair)
        elif isinstance(node, (*_MANY_TIMES, ast.Name)):
            self._unknown([node])
        else:
            self._expressions(ast.iter_child_nodes(node))

    def _unknown(self, nodes: Iterable[ast.AST]) -> None:
        """Look for tools in code that may have run any number of times."""
        names = (part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name))
        self.all_known = self.all_known and not any(map(self._names.is_tool, names))

    def _made(self, call: ast.Call) -> CodeCall:
        name = self._tool_of(call)
        arguments = _arguments(call, self._names.arguments_of(name), self._names.constants)
        return CodeCall(name, self._source.of(call) if arguments is None else arguments)


def _arguments(call: ast.Call, names: Sequence[str], constants: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a call; None where they are not all in the code, or it is not known what they are."""
    if len(call.args) > len(names):
        return None
    found = {name: _literal(value, constants) for name, value in zip(names, call.args, strict=False)}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in found:
            return None
        found[keyword.arg] = _literal(keyword.value, constants)
    return None if _holds_unknown(found) else found


def _holds_unknown(found: Mapping[str, Any]) -> bool:
    return any(value is _NOT_LITERAL for value in found.values())


def _literal(node: ast.AST, constants: Mapping[str, Any]) -> Any:
    """Return the value that is written in code, where JSON has it too."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (str, int, float, type(None))) else _NOT_LITERAL
    if isinstance(node, ast.Name):
        return constants.get(node.id, _NOT_LITERAL)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _literal(node.operand, constants)
        return -value if isinstance(value, (int, float)) and not isinstance(value, bool) else _NOT_LITERAL
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [_literal(item, constants) for item in node.elts]
        return _NOT_LITERAL if any(item is _NOT_LITERAL for item in items) else items
    return _literal_mapping(node, constants) if isinstance(node, ast.Dict) else _NOT_LITERAL


def _literal_mapping(node: ast.Dict, constants: Mapping[str, Any]) -> Any:
    keys = [_NOT_LITERAL if key is None else _literal(key, constants) for key in node.keys]
    values = {str(key): _literal(value, constants) for key, value in zip(keys, node.values, strict=True)}
    are_texts = all(isinstance(key, str) for key in keys)
    return values if are_texts and not _holds_unknown(values) else _NOT_LITERAL
