"""Models of Pydantic AI's that do what a test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def answering(*outputs: Any, name: str = "function") -> FunctionModel:
    """A model that gives these answers, the last one again and again."""
    left = list(outputs)

    def give(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        output = left.pop(0) if len(left) > 1 else left[0]
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, output)])

    return FunctionModel(give, model_name=name)


class Reader:
    """A model that answers by what is in the prompt, and notes what it was asked.

    Attributes:
        model: the model.
        prompts: the prompts as the model got them.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self._answer = answer
        self.prompts: list[str] = []
        self.model = FunctionModel(self._give, model_name="reader")

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [json.loads(prompt) for prompt in self.prompts]

    async def _give(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.prompts.append(prompt_of(messages))
        output = self._answer(json.loads(self.prompts[-1]))
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, output)])


def prompt_of(messages: list[ModelMessage]) -> str:
    """The text that the model was asked with."""
    first = messages[0]
    assert isinstance(first, ModelRequest)
    (part,) = [part for part in first.parts if isinstance(part, UserPromptPart)]
    assert isinstance(part.content, str)
    return part.content
