"""Lists: item by item what the items alone are, and cheap where they are long and as expected."""

from __future__ import annotations

import itertools
import math
from typing import Any
from unittest import mock

import pytest

from tracewitness.matching import ANY, Regex, compile_expected
from tracewitness.matching.containers import Items
from tracewitness.matching.nodes import STRICT
from tracewitness.matching.policies import build

VALUES: list[Any] = [None, True, False, 0, 1, 2**70, 1.0, -0.0, math.nan, math.inf, "", "*", " a ", "a", "1", "true"]
VALUES += ["[1]", ' {"a": 1}', '"a"', [1], {"a": 1}, (), ANY, Regex("a"), b"a", mock.Mock(spec=int)]


@pytest.mark.parametrize("policy", ["strict", "lenient", "subset"])
def test_an_item_matches_where_it_does_alone(policy: str) -> None:
    """Whatever its value is, in whatever list, also where it was asked before."""
    for expected, actual in itertools.product(VALUES, repeat=2):
        alone, listed = compile_expected(expected, policy), compile_expected([0, expected], policy)
        for _ in range(2):
            assert listed.decides([0, actual]) is alone.decides(actual), (expected, actual)
        found, wanted = listed.differences([0, actual]), alone.differences(actual)
        assert [(item.path[1:], item.reason) for item in found] == [(item.path, item.reason) for item in wanted]
        assert all(item.path[0] == 1 for item in found)


def test_what_comes_as_expected_is_not_compiled() -> None:
    """A list of a million numbers, of which one differs, takes the compiling of one number."""
    compiled: list[object] = []
    items = Items([1, "a", None, 2], lambda _: True, lambda item: compiled.append(item) or build(item, STRICT))  # type: ignore[func-returns-value]
    assert [index for index, _, _ in items.differing([1, "b", None, 2.0])] == [1, 3]
    assert {index for index, _, _ in items.differing([1, "c", None, 2])} >= {1}
    assert compiled == ["a", 2]


def test_an_expected_list_may_be_changed_afterwards() -> None:
    """What was compiled stays what it was."""
    expected = [1, 2]
    compiled = compile_expected(expected)
    expected[0] = 5
    assert compiled.matches([1, 2])
    assert not compiled.matches([5, 2])
