"""A small recording in every format, of which tests make mutants. A new reader needs one here."""

from __future__ import annotations

from typing import Any

_INPUT = '[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]'
_CALL = '{"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": 1}}'
_OUTPUT = f'[{{"role": "assistant", "parts": [{_CALL}]}}]'

#: By the reader's name.
SEEDS: dict[str, Any] = {
    "neutral": {
        "name": "one",
        "version": 1,
        "events": [
            {"user": "hi", "at": 1.5},
            {"call": "a", "args": {"n": 1}, "id": "c1", "by": "shop"},
            {"result": {"n": 1}, "id": "c1", "is_error": False},
            {"agent": "Done."},
            {"transfer": "billing"},
            {"call": "b"},
            {"result": None, "of": "b"},
            {"end": True},
        ],
    },
    "simulation result": {
        "name": "one",
        "passed": True,
        "detailed_trace": [
            "User: hi",
            "Agent Text: Looking.\nTool Call: search with args {'q': 'lamp'}\n"
            "Tool Response: search with result {'n': 1.0}\nAgent Transfer: Transferred to billing",
        ],
        "expectation_details": [],
        "turn_traces": [
            {
                "turn_index": 0,
                "root_span": {
                    "name": "Turn",
                    "childSpans": [
                        {
                            "name": "Tool",
                            "attributes": {"name": "search", "args": {"q": "lamp"}, "response": {"n": 1.0}},
                        }
                    ],
                },
            }
        ],
    },
    "openai-chat": [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Find both."},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "b", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "of b"},
        {"role": "tool", "tool_call_id": "c1", "content": "of a"},
        {"role": "assistant", "content": "Done."},
    ],
    "openai-responses": {
        "object": "response",
        "status": "completed",
        "instructions": "Help.",
        "input": [{"role": "user", "content": "hi"}],
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
            {"type": "function_call", "id": "f1", "call_id": "c1", "name": "a", "arguments": '{"n": 1}'},
            {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "ok"}]},
            {"type": "mcp_call", "id": "m1", "server_label": "s", "name": "b", "arguments": "{}", "output": "1"},
            {"type": "web_search_call", "id": "w1", "action": {"type": "search", "query": "q"}, "status": "failed"},
        ],
    },
    "anthropic-messages": {
        "system": "Help.",
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "tool_use", "id": "t1", "name": "a", "input": {"n": 1}},
                    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": {"type": "x_error"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [{"type": "text", "text": "ok"}],
                        "is_error": True,
                    }
                ],
            },
        ],
    },
    "gemini": [
        {"role": "user", "parts": [{"text": "Find "}, {"text": "both."}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"functionCall": {"name": "a", "args": {"n": 1}}},
                {"functionCall": {"name": "b"}},
                {"functionCall": {"name": "a", "args": {"n": 2}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "b", "response": {"r": "b"}}},
                {"functionResponse": {"name": "a", "response": {"r": "a1"}}},
                {"functionResponse": {"name": "a", "response": {"r": "a2"}}},
            ],
        },
        {"role": "model", "parts": [{"text": "Do"}, {"text": "ne."}]},
    ],
    "langchain": {
        "messages": [
            {
                "type": "ai",
                "content": [
                    {"type": "text", "text": "Looking."},
                    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
                    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
                    {"type": "server_tool_call", "name": "web_search", "args": {}},
                    {"type": "server_tool_result", "tool_call_id": "null", "status": "error", "output": "no"},
                    {
                        "type": "non_standard",
                        "value": {"type": "mcp_call", "id": "m1", "name": "get", "arguments": "{}"},
                    },
                    {"type": "executable_code", "executable_code": "1", "language": "python", "id": "e1"},
                    {"type": "code_execution_result", "code_execution_result": "1", "outcome": 1, "tool_call_id": "e1"},
                ],
                "tool_calls": [],
                "invalid_tool_calls": [],
                "id": "m0",
            }
        ]
    },
    "langgraph-checkpoints": {
        "threads": [
            {
                "thread_id": name,
                "values": [
                    {"messages": [{"type": "human", "content": "hi"}]},
                    {
                        "messages": [
                            {"type": "ai", "content": "", "tool_calls": [{"name": "a", "args": {}, "id": "c1"}]}
                        ]
                    },
                    {"messages": [{"type": "tool", "content": "x", "tool_call_id": "c1"}]},
                ],
            }
            for name in ("one", "two")
        ]
    },
    "openai-agents-trace": [
        {
            "object": "trace.span",
            "id": "f1",
            "trace_id": "t1",
            "error": None,
            "span_data": {"type": "function", "name": "search", "output": "1"},
            "ended_at": "2026-01-01T00:00:05",
            "parent_id": "a1",
            "started_at": "2026-01-01T00:00:03",
        },
        {
            "object": "trace.span",
            "id": "f2",
            "trace_id": "t1",
            "error": {"message": "x"},
            "span_data": {"type": "function", "name": "steer", "input": '{"a": 1}', "output": "stuck"},
            "started_at": "2026-01-01T00:00:04",
            "ended_at": "2026-01-01T00:00:06",
            "parent_id": "a1",
        },
        {
            "object": "trace.span",
            "id": "g1",
            "trace_id": "t1",
            "error": None,
            "span_data": {
                "type": "generation",
                "input": [{"role": "user", "content": "Go."}],
                "output": [
                    {
                        "role": "assistant",
                        "tool_calls": [
                            {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
                        ],
                    }
                ],
            },
            "started_at": "2026-01-01T00:00:01",
            "ended_at": "2026-01-01T00:00:02",
            "parent_id": "a1",
        },
        {
            "object": "trace.span",
            "id": "h1",
            "trace_id": "t1",
            "error": None,
            "span_data": {"type": "handoff", "from_agent": "shop", "to_agent": "billing"},
            "started_at": "2026-01-01T00:00:07",
            "ended_at": "2026-01-01T00:00:08",
            "parent_id": "a1",
        },
        {
            "object": "trace.span",
            "id": "g2",
            "trace_id": "t1",
            "error": None,
            "span_data": {
                "type": "generation",
                "input": [{"role": "user", "content": "Go."}, {"role": "tool"}],
                "output": [{"role": "assistant", "content": "Done."}],
            },
            "started_at": "2026-01-01T00:00:09",
            "ended_at": "2026-01-01T00:00:09",
            "parent_id": "a1",
        },
        {
            "object": "trace.span",
            "id": "a1",
            "trace_id": "t1",
            "error": None,
            "span_data": {"type": "agent", "name": "shop", "tools": ["search"]},
            "started_at": "2026-01-01T00:00:01",
            "ended_at": "2026-01-01T00:00:09",
        },
    ],
    "openai-agents": {
        "original_input": "Go.",
        "generated_items": [
            {
                "type": "handoff_call_item",
                "raw_item": {
                    "type": "function_call",
                    "id": "fc_c1",
                    "call_id": "c1",
                    "name": "transfer_to_billing",
                    "arguments": "{}",
                },
                "agent": {},
            },
            {
                "type": "handoff_output_item",
                "raw_item": {"type": "function_call_output", "output": '{"assistant": "billing"}'},
                "source_agent": {"name": "shop"},
                "target_agent": {"name": "billing"},
            },
            {
                "type": "tool_call_item",
                "raw_item": {"type": "function_call", "id": "fc_c2", "call_id": "c2", "name": "pay", "arguments": "{}"},
                "agent": {"name": "billing"},
            },
        ],
        "current_step": {
            "data": {
                "interruptions": [
                    {
                        "type": "handoff_call_item",
                        "raw_item": {
                            "type": "function_call",
                            "id": "fc_c1",
                            "call_id": "c1",
                            "name": "transfer_to_billing",
                            "arguments": "{}",
                        },
                        "agent": {},
                    },
                    {
                        "type": "handoff_output_item",
                        "raw_item": {"type": "function_call_output", "output": '{"assistant": "billing"}'},
                        "source_agent": {"name": "shop"},
                        "target_agent": {"name": "billing"},
                    },
                    {
                        "type": "tool_call_item",
                        "raw_item": {
                            "type": "function_call",
                            "id": "fc_c2",
                            "call_id": "c2",
                            "name": "pay",
                            "arguments": "{}",
                        },
                        "agent": {"name": "billing"},
                    },
                ]
            }
        },
    },
    "pydantic-ai": [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": "Help."},
                {"part_kind": "user-prompt", "content": "Find."},
            ],
        },
        {
            "kind": "response",
            "parts": [
                {
                    "part_kind": "tool-call",
                    "tool_name": "search",
                    "args": {"args_json": '{"q": 1}'},
                    "tool_call_id": "c1",
                },
                {
                    "part_kind": "tool-call",
                    "tool_name": "search",
                    "args": {"args_dict": {"q": 2}},
                    "tool_call_id": "c2",
                },
            ],
        },
        {
            "kind": "request",
            "parts": [
                {"part_kind": "tool-return", "tool_name": "search", "content": {"n": 1}, "tool_call_id": "c1"},
                {"part_kind": "retry-prompt", "content": "stuck", "tool_name": "search", "tool_call_id": "c2"},
            ],
        },
        {"kind": "response", "parts": []},
    ],
    "openai-chat-stream": [
        {"role": "user", "content": "Find a lamp."},
        {
            "object": "chat.completion.chunk",
            "id": "chatcmpl-1",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": None}],
        },
        {
            "object": "chat.completion.chunk",
            "id": "chatcmpl-1",
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {"index": 0, "id": "c1", "function": {"name": "search", "arguments": '{"q": "lamp"}'}}
                        ]
                    },
                    "finish_reason": None,
                }
            ],
        },
        {
            "object": "chat.completion.chunk",
            "id": "chatcmpl-1",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "lamp-0"},
    ],
    "openai-responses-stream": [
        {"role": "user", "content": "Find it."},
        {
            "type": "response.created",
            "response": {"object": "response", "status": "in_progress", "output": [], "instructions": "Help."},
        },
        {
            "type": "response.completed",
            "response": {
                "object": "response",
                "status": "completed",
                "output": [
                    {
                        "type": "function_call",
                        "arguments": '{"n": 1}',
                        "id": "fc_0",
                        "call_id": "c0",
                        "name": "search",
                        "status": "in_progress",
                    }
                ],
                "instructions": "Help.",
            },
        },
        {"type": "function_call_output", "call_id": "c0", "output": "found"},
        {
            "type": "response.created",
            "response": {"object": "response", "status": "in_progress", "output": [], "instructions": "Help."},
        },
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {
                "type": "function_call",
                "arguments": "{}",
                "id": "fc_1",
                "call_id": "c1",
                "name": "search",
                "status": "in_progress",
            },
        },
        {
            "type": "response.completed",
            "response": {"object": "response", "status": "completed", "output": [], "instructions": "Help."},
        },
        {
            "type": "response.created",
            "response": {"object": "response", "status": "in_progress", "output": [], "instructions": "Help."},
        },
        {
            "type": "response.completed",
            "response": {
                "object": "response",
                "status": "completed",
                "output": [
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
                ],
                "instructions": "Help.",
            },
        },
    ],
    "anthropic-stream": [
        {"role": "user", "content": "Find a lamp."},
        {
            "type": "message_start",
            "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": None},
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t1", "name": "search", "input": {}},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"n": 1}'}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "lamp-0", "is_error": True}],
        },
    ],
    "tau-bench": {
        "task_id": 7,
        "trial": 1,
        "reward": 0.0,
        "info": {"task": {"actions": [{"name": "pay", "kwargs": {}}]}},
        "traj": [
            {"role": "system", "content": "Help."},
            {"role": "user", "content": "Two lamps."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "function": {"name": "order", "arguments": '{"n": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "c1", "name": "order", "content": "Error: none left"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "function": {"name": "refund", "arguments": '{"n": 2}'}}],
            },
            {"role": "tool", "tool_call_id": "c1", "name": "refund", "content": 2.5},
            {"role": "assistant", "content": "Sorry."},
        ],
    },
    "tau2-bench": {
        "id": "s1",
        "task_id": "7",
        "trial": 0,
        "reward_info": {"reward": 1.0},
        "termination_reason": "user_stop",
        "messages": [
            {"role": "assistant", "content": "Hi!", "tool_calls": None, "timestamp": "2025-01-01T00:00:00"},
            {
                "role": "user",
                "content": None,
                "timestamp": "2025-01-01T00:00:01",
                "tool_calls": [{"id": "u1", "name": "toggle", "arguments": {"on": True}, "requestor": "user"}],
            },
            {"role": "tool", "id": "u1", "content": "on", "requestor": "user", "error": False},
            {"role": "user", "content": "It is on."},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [
                    {"id": "a", "name": "look", "arguments": {"n": 1}, "requestor": "assistant"},
                    {"id": "b", "name": "look", "arguments": {}},
                ],
            },
            {
                "role": "tool",
                "tool_messages": [
                    {"role": "tool", "id": "b", "content": "none", "error": True, "timestamp": "2025-01-01T00:00:03"},
                    {"role": "tool", "id": "a", "content": '{"n": 1}'},
                ],
            },
            {"role": "user", "content": "###STOP###"},
        ],
    },
    "swe-agent": {
        "environment": "main",
        "trajectory": [
            {
                "action": "find_file a.py",
                "observation": "/a.py",
                "response": "I will find_file a.py.",
                "thought": "I will find_file a.py.",
                "state": {},
                "query": [{"role": "system", "content": "x"}],
                "execution_time": 0.1,
            },
            {
                "action": "edit",
                "observation": "a lint error, taken back",
                "response": "I will edit.",
                "thought": "I will edit.",
                "state": {},
                "query": [{"role": "system", "content": "x"}],
                "execution_time": 0.1,
            },
            {
                "action": "submit",
                "observation": "diff --git",
                "response": "I will submit.",
                "thought": "I will submit.",
                "state": {},
                "query": [{"role": "system", "content": "x"}],
                "execution_time": 0.1,
            },
        ],
        "history": [
            {"role": "system", "content": "Fix it.", "agent": "main", "message_type": "system_prompt"},
            {"role": "user", "content": "look at this", "is_demo": True, "message_type": "demonstration"},
            {"role": "assistant", "content": "demo", "action": "rm -rf /", "is_demo": True, "message_type": "action"},
            {"role": "user", "content": [{"type": "text", "text": "It is broken."}], "message_type": "observation"},
            {
                "role": "assistant",
                "content": "I will find_file a.py.",
                "thought": "I will find_file a.py.",
                "action": "find_file a.py",
                "agent": "main",
                "message_type": "action",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "find_file", "arguments": '{"file_name": "a.py"}'},
                    }
                ],
            },
            {"role": "tool", "content": "OBSERVATION: /a.py", "message_type": "observation", "tool_call_ids": ["c1"]},
            {
                "role": "assistant",
                "content": "I will submit.",
                "thought": "I will submit.",
                "action": "submit",
                "agent": "main",
                "message_type": "action",
                "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "submit", "arguments": ""}}],
            },
            {"role": "tool", "content": "OBSERVATION: diff", "message_type": "observation", "tool_call_ids": ["c2"]},
        ],
        "info": {"exit_status": "submitted"},
    },
    "mini-swe-agent": {
        "messages": [
            {"role": "system", "content": "Act."},
            {"role": "user", "content": "Fix it."},
            {
                "role": "assistant",
                "content": "I look.",
                "extra": {"actions": [{"command": "ls"}, {"command": "false"}]},
            },
            {"role": "user", "content": "a.py", "extra": {"returncode": 0, "timestamp": 1.5, "exception_info": ""}},
            {"role": "user", "content": "", "extra": {"returncode": 1, "timestamp": 2.5, "exception_info": ""}},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
                ],
                "extra": {"actions": [{"command": "ls", "tool_call_id": "c1"}]},
            },
            {"role": "exit", "content": "done", "extra": {"exit_status": "Submitted", "submission": "done"}},
        ],
        "info": {"exit_status": "Submitted"},
        "trajectory_format": "mini-swe-agent-1.1",
    },
    "guard-log": [
        {"guard": "event", "event": {"user": "hi"}},
        {"guard": "allow", "event": {"call": "search", "args": {"q": 1}, "id": "c1"}},
        {"guard": "event", "event": {"result": {"n": 1}, "id": "c1"}},
        {"guard": "warn", "event": {"call": "search", "args": {"q": 1}, "id": "c2"}, "reasons": ["again"]},
        {"guard": "block", "event": {"call": "refund", "id": "c3"}, "reasons": ["ask first"]},
    ],
    "mcp": [
        {
            "direction": "sent",
            "session": "s",
            "at": 1,
            "message": {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}},
        },
        {"direction": "received", "session": "s", "message": {"jsonrpc": "2.0", "id": 0, "result": {}}},
        {
            "direction": "sent",
            "session": "s",
            "message": [
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": {"n": 1}}},
                {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "b"}},
            ],
        },
        {
            "direction": "received",
            "session": "s",
            "message": {
                "jsonrpc": "2.0",
                "id": 2,
                "result": {"content": [{"type": "text", "text": "ok"}], "isError": True},
            },
        },
        {"direction": "received", "session": "s", "message": '{"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}'},
    ],
    "atif": {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": {"name": "scout", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "hi"},
            {
                "step_id": 2,
                "timestamp": "2026-01-01T00:00:00Z",
                "source": "agent",
                "message": [{"type": "text", "text": "Looking."}],
                "tool_calls": [
                    {
                        "tool_call_id": "a",
                        "function_name": "search",
                        "arguments": {"q": "lamp"},
                        "extra": {"timeout": 1},
                    }
                ],
                "observation": {
                    "results": [
                        {"source_call_id": "a", "content": "ok", "subagent_trajectory_ref": [{"trajectory_id": "t"}]}
                    ]
                },
            },
        ],
        "subagent_trajectories": [
            {
                "schema_version": "ATIF-v1.7",
                "trajectory_id": "t",
                "agent": {"name": "mole"},
                "steps": [
                    {
                        "step_id": 1,
                        "source": "agent",
                        "message": "",
                        "tool_calls": [{"tool_call_id": "x", "function_name": "dig", "arguments": {}}],
                    }
                ],
            }
        ],
        "extra": {},
    },
    "gemini-stream": [
        {"role": "user", "parts": [{"text": "Find it."}]},
        {
            "candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]}}],
            "responseId": "r1",
            "modelVersion": "m",
        },
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}],
            "responseId": "r1",
            "modelVersion": "m",
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {"r": 1}}}]},
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": "Do"}]}}],
            "responseId": "r2",
            "modelVersion": "m",
        },
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": "ne."}]}, "finishReason": "STOP"}],
            "responseId": "r2",
            "modelVersion": "m",
        },
        {"usageMetadata": {"totalTokenCount": 1}, "modelVersion": "m"},
        {
            "candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "b"}}]}}],
            "responseId": "r3",
            "modelVersion": "m",
        },
        {
            "candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}],
            "responseId": "r3",
            "modelVersion": "m",
        },
    ],
    "bedrock-converse": {
        "system": [{"text": "Help."}, {"cachePoint": {"type": "default"}}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "other"}}]},
        "messages": [
            {"role": "user", "content": [{"text": "h"}, {"image": {}}, {"text": "i"}]},
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "?"}}},
                    {"text": "I look."},
                    {"toolUse": {"toolUseId": "c1", "name": "search", "input": {"q": "lamp"}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "c1", "content": [{"json": {"found": 1}}], "status": "success"}}
                ],
            },
            {"role": "assistant", "content": [{"text": "Done."}]},
        ],
    },
    "cohere-chat": {
        "preamble": "Help.",
        "chat_history": [
            {"role": "USER", "message": "hi"},
            {"role": "CHATBOT", "message": "", "tool_calls": [{"name": "search", "parameters": {"q": "lamp"}}]},
        ],
        "message": "",
        "tool_results": [{"call": {"name": "search", "parameters": {"q": "lamp"}}, "outputs": [{"found": 1}]}],
    },
    "mistral-conversations": {
        "object": "conversation.history",
        "entries": [
            {"type": "message.input", "role": "user", "content": "hi"},
            {
                "object": "entry",
                "type": "function.call",
                "tool_call_id": "c1",
                "name": "search",
                "arguments": {"q": "lamp"},
                "agent_id": "a1",
                "created_at": "2026-01-01T00:00:00Z",
            },
            {"type": "function.result", "tool_call_id": "c1", "result": "a lamp"},
            {"type": "agent.handoff", "previous_agent_id": "a1", "next_agent_id": "a2", "next_agent_name": "driver"},
            {"type": "tool.execution", "id": "t1", "name": "web_search", "arguments": "{}", "info": {"n": 1}},
            {"type": "message.output", "agent_id": "a2", "content": [{"type": "text", "text": "Done."}]},
        ],
    },
    "gemini-interactions": {
        "model": "m",
        "system_instruction": "Help.",
        "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "hi"}, {"type": "image"}]},
            {"type": "function_call", "id": "c1", "name": "search", "arguments": {"q": "lamp"}},
            {"type": "function_result", "call_id": "c1", "name": "search", "result": "no", "is_error": True},
            {"type": "model_output", "content": [{"type": "text", "text": "Done."}]},
        ],
    },
    "openai-assistants": {
        "object": "list",
        "data": [
            {
                "object": "thread.message",
                "created_at": 2,
                "role": "assistant",
                "content": [{"type": "text", "text": {"value": "Done."}}, {"type": "image_file"}],
            },
            {
                "object": "thread.run.step",
                "created_at": 1,
                "step_details": {
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "search", "arguments": '{"q": "lamp"}', "output": "a lamp"},
                        },
                        {"id": "i1", "type": "code_interpreter", "code_interpreter": {"input": "1", "outputs": ["1"]}},
                    ]
                },
            },
        ],
    },
    "http-recording": {
        "version": 1,
        "interactions": [
            {
                "request": {
                    "method": "POST",
                    "uri": "https://models.example/v1/chat",
                    "parsed_body": {"model": "m", "messages": [{"role": "user", "content": "Find a lamp."}]},
                },
                "response": {
                    "status": {"code": 200, "message": "?"},
                    "parsed_body": {
                        "object": "chat.completion",
                        "choices": [
                            {
                                "index": 0,
                                "message": {
                                    "role": "assistant",
                                    "content": None,
                                    "tool_calls": [
                                        {
                                            "id": "c1",
                                            "type": "function",
                                            "function": {"name": "search", "arguments": '{"q": "lamp"}'},
                                        }
                                    ],
                                },
                            }
                        ],
                    },
                },
            },
            {
                "request": {
                    "method": "POST",
                    "uri": "https://models.example/v1/chat",
                    "parsed_body": {"events": [{"call": "track"}]},
                },
                "response": {"status": {"code": 200, "message": "?"}, "parsed_body": {"events": []}},
            },
            {
                "request": {
                    "method": "POST",
                    "uri": "https://models.example/v1/chat",
                    "parsed_body": {
                        "model": "m",
                        "messages": [
                            {"role": "user", "content": "Find a lamp."},
                            {
                                "role": "assistant",
                                "content": None,
                                "tool_calls": [
                                    {
                                        "id": "c1",
                                        "type": "function",
                                        "function": {"name": "search", "arguments": '{"q": "lamp"}'},
                                    }
                                ],
                            },
                            {"role": "tool", "tool_call_id": "c1", "content": "a lamp"},
                        ],
                    },
                },
                "response": {
                    "status": {"code": 200, "message": "?"},
                    "parsed_body": {
                        "object": "chat.completion",
                        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}}],
                    },
                },
            },
        ],
    },
    "bedrock-converse-stream": [
        {"role": "user", "content": [{"text": "hi"}]},
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "x"}}},
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": "search"}}}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"q": 1}'}}}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {}}},
    ],
    "cohere-stream": [
        {"type": "message-start", "id": "m"},
        {
            "type": "tool-call-start",
            "index": 0,
            "delta": {"message": {"tool_calls": {"id": "c1", "function": {"name": "search", "arguments": ""}}}},
        },
        {
            "type": "tool-call-delta",
            "index": 0,
            "delta": {"message": {"tool_calls": {"function": {"arguments": '{"q": 1}'}}}},
        },
        {"type": "tool-call-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ],
    "ollama-stream": [
        {
            "message": {
                "role": "assistant",
                "content": "x",
                "tool_calls": [{"function": {"name": "search", "arguments": {"q": "lamp"}}}],
            },
            "done": False,
        },
        {"message": {"role": "assistant", "content": ""}, "done": True},
        {"role": "tool", "tool_name": "search", "content": "ok"},
    ],
    "gemini-interactions-stream": [
        {"event_type": "interaction.start", "interaction": {"id": "i1", "status": "in_progress"}},
        {"event_type": "content.start", "index": 0, "content": {"type": "text"}},
        {"event_type": "content.delta", "index": 0, "delta": {"type": "text", "text": "Hi."}},
        {
            "event_type": "content.delta",
            "index": 1,
            "delta": {"type": "function_call", "id": "c1", "name": "search", "arguments": {"n": 1}},
        },
        {"event_type": "interaction.complete", "interaction": {"id": "i1", "status": "requires_action"}},
        {"type": "function_result", "call_id": "c1", "name": "search", "result": "x", "is_error": True},
        {
            "event_type": "interaction.created",
            "interaction": {"id": "i1", "object": "interaction", "status": "in_progress"},
        },
        {
            "event_type": "interaction.completed",
            "interaction": {"id": "i1", "object": "interaction", "status": "completed"},
        },
    ],
    "openai-assistants-stream": [
        {
            "object": "thread.run.step.delta",
            "id": "s1",
            "delta": {
                "step_details": {
                    "type": "tool_calls",
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "search", "arguments": '{"q": 1}'},
                        }
                    ],
                }
            },
        },
        {
            "object": "thread.run",
            "id": "r1",
            "status": "requires_action",
            "required_action": {
                "submit_tool_outputs": {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "search", "arguments": '{"q": 1}'},
                        }
                    ]
                }
            },
        },
    ],
    "autogen": {
        "messages": [
            {"type": "TextMessage", "source": "user", "content": "Find both."},
            {
                "type": "ToolCallRequestEvent",
                "source": "alice",
                "content": [{"id": "c1", "name": "search", "arguments": "{}"}],
                "id": "1",
            },
            {
                "type": "ToolCallExecutionEvent",
                "source": "alice",
                "content": [{"call_id": "c1", "name": "search", "content": "x"}],
            },
            {
                "type": "ToolCallSummaryMessage",
                "source": "alice",
                "content": "x",
                "tool_calls": [{"id": "", "name": "search", "arguments": "{}"}],
                "results": [{"call_id": "c1", "name": "search", "content": "x"}],
            },
            {"type": "HandoffMessage", "source": "alice", "content": "x", "target": "bob"},
        ]
    },
    "crewai": [
        {
            "type": "tool_usage_started",
            "tool_name": "search",
            "tool_args": '{"q": 1}',
            "agent_role": "scout",
            "emission_sequence": 1,
            "timestamp": "2026-01-01T00:00:00",
        },
        {
            "type": "tool_usage_finished",
            "tool_name": "search",
            "tool_args": {"q": 1},
            "output": "ok",
            "agent_role": "scout",
            "emission_sequence": 2,
        },
    ],
    "inspect": {
        "version": 2,
        "status": "success",
        "eval": {"task": "shop", "model": "mockllm/model"},
        "samples": [
            {
                "id": 1,
                "epoch": 1,
                "input": "x",
                "messages": [
                    {"id": "u1", "role": "user", "content": "Find a lamp."},
                    {
                        "role": "assistant",
                        "content": "",
                        "tool_calls": [
                            {"id": "1", "function": "search", "arguments": {"n": 1}, "type": "function"},
                            {"id": "", "function": "search", "arguments": {"n": 2}, "type": "function"},
                            {"id": "", "function": "search", "arguments": {"n": 3}, "type": "function"},
                        ],
                    },
                    {
                        "role": "tool",
                        "tool_call_id": "1",
                        "function": "search",
                        "content": [{"type": "text", "text": "one"}],
                    },
                    {"role": "tool", "tool_call_id": "", "function": "search", "content": "two"},
                    {
                        "role": "tool",
                        "tool_call_id": None,
                        "function": "search",
                        "content": "",
                        "error": {"message": "no"},
                    },
                    {
                        "role": "assistant",
                        "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Done."}],
                    },
                ],
                "events": None,
            }
        ],
    },
    "llama-index": [
        {"tool_id": "1", "tool_name": "search", "tool_kwargs": {"n": 1}},
        {
            "tool_id": "1",
            "tool_name": "search",
            "tool_kwargs": {"n": 1},
            "tool_output": {
                "tool_name": "search",
                "raw_output": "x",
                "blocks": [{"block_type": "text", "text": "x"}],
                "is_error": False,
            },
            "return_direct": False,
        },
    ],
    "smolagents": {
        "steps": [
            {"task": "Find it."},
            {
                "step_number": 1,
                "model_output_message": {"role": "assistant", "content": "x"},
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "search", "arguments": {"q": "lamp"}}}
                ],
                "observations": "a lamp",
                "timing": {"start_time": 1.0, "end_time": 2.0},
            },
        ]
    },
    "strands": {
        "name": "one",
        "system_prompt": "Help.",
        "messages": [
            {"role": "user", "content": [{"text": "hi"}]},
            {
                "role": "assistant",
                "content": [{"text": "x"}, {"toolUse": {"toolUseId": "t1", "name": "search", "input": {"q": "lamp"}}}],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "ok"}], "status": "error"}}],
            },
        ],
        "traces": [],
    },
    "vercel-ai": {
        "messages": [
            {"role": "system", "content": "Help."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "file", "data": ""}, {"type": "text", "text": "b"}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "tool-call", "toolCallId": "1", "toolName": "a", "input": {"n": 1}},
                    {"type": "tool-call", "toolCallId": "2", "toolName": "b", "args": {}},
                ],
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "1",
                        "toolName": "a",
                        "output": {"type": "json", "value": {"n": 1}},
                    },
                    {"type": "tool-result", "toolCallId": "2", "toolName": "b", "result": 2, "isError": True},
                ],
            },
            {"role": "assistant", "content": "Done."},
        ]
    },
    "google-adk": {
        "eval_id": "one",
        "conversation": [
            {
                "invocation_id": "i1",
                "user_content": {"role": "user", "parts": [{"text": "hi"}]},
                "final_response": {"role": "model", "parts": [{"text": "Done."}]},
                "intermediate_data": {
                    "tool_uses": [{"id": None, "name": "a", "args": {"n": 1}}, {"id": "x", "name": "b", "args": {}}],
                    "tool_responses": [{"id": "x", "name": "b", "response": 1}],
                    "intermediate_responses": [["helper", [{"text": "One moment."}]]],
                },
                "creation_timestamp": 0.0,
            }
        ],
        "creation_timestamp": 1.0,
    },
    "claude-agent-sdk": [
        {"type": "user", "message": {"role": "user", "content": "hi"}, "parent_tool_use_id": None, "session_id": "s1"},
        {
            "type": "assistant",
            "message": {
                "id": None,
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "t1",
                        "name": "Agent",
                        "input": {"subagent_type": "helper", "prompt": "look"},
                    }
                ],
            },
            "parent_tool_use_id": None,
            "session_id": "s1",
        },
        {
            "type": "user",
            "message": {"role": "user", "content": "look"},
            "parent_tool_use_id": "t1",
            "session_id": "s1",
        },
        {
            "type": "assistant",
            "message": {
                "id": None,
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}],
            },
            "parent_tool_use_id": "t1",
            "session_id": "s1",
        },
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "a.txt"}]},
            "parent_tool_use_id": "t1",
            "session_id": "s1",
        },
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "There is a.txt."}],
            },
            "parent_tool_use_id": None,
            "session_id": "s1",
        },
    ],
    "claude-code": [
        {
            "parentUuid": None,
            "type": "user",
            "uuid": "u1",
            "message": {"role": "user", "content": "hi"},
            "isSidechain": False,
            "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:01Z",
        },
        {
            "parentUuid": None,
            "type": "assistant",
            "uuid": "u2",
            "message": {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "t1",
                        "name": "Task",
                        "input": {"subagent_type": "helper", "prompt": "look"},
                    }
                ],
                "id": "m1",
            },
            "isSidechain": False,
            "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:02Z",
        },
        {
            "type": "progress",
            "parentToolUseID": "t1",
            "data": {
                "type": "agent_progress",
                "agentId": "x",
                "message": {
                    "parentUuid": None,
                    "type": "assistant",
                    "uuid": "u3",
                    "message": {
                        "role": "assistant",
                        "content": [{"type": "tool_use", "id": "t2", "name": "ls", "input": {}}],
                        "id": "m2",
                    },
                    "isSidechain": False,
                    "sessionId": "s1",
                    "timestamp": "2026-01-01T00:00:03Z",
                },
            },
            "isSidechain": False,
            "sessionId": "s1",
        },
        {"type": "progress", "data": {"type": "hook_progress"}, "isSidechain": False, "sessionId": "s1"},
        {
            "parentUuid": None,
            "type": "user",
            "uuid": "u4",
            "message": {"role": "user", "content": "look"},
            "isSidechain": True,
            "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:04Z",
            "agentId": "y",
        },
        {
            "parentUuid": None,
            "type": "assistant",
            "uuid": "u5",
            "message": {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t3", "name": "cat", "input": {}}],
                "id": "m3",
            },
            "isSidechain": True,
            "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:05Z",
            "agentId": "y",
        },
        {
            "parentUuid": None,
            "type": "assistant",
            "uuid": "u6",
            "message": {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t4", "name": "rm", "input": {}}],
                "id": "m4",
            },
            "isSidechain": True,
            "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:06Z",
            "agentId": "z",
            "attributionAgent": "cleaner",
        },
        {
            "parentUuid": None,
            "type": "assistant",
            "uuid": "u7",
            "message": {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t5", "name": "mv", "input": {}}],
                "id": "m5",
            },
            "isSidechain": True,
            "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:07Z",
        },
        {
            "parentUuid": None,
            "type": "user",
            "uuid": "u8",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "done"}]},
            "isSidechain": False,
            "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:08Z",
            "toolUseResult": {"agentId": "y", "status": "completed"},
        },
    ],
    "codex": [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        {
            "type": "item.started",
            "item": {"id": "i", "type": "command_execution", "command": "ls", "status": "in_progress"},
        },
        {
            "type": "item.completed",
            "item": {"id": "i", "type": "command_execution", "command": "ls", "aggregated_output": "a", "exit_code": 1},
        },
        {"type": "item.completed", "item": {"id": "j", "type": "agent_message", "text": "Done."}},
    ],
    "cx-agent-studio": {
        "turns": [
            {
                "messages": [
                    {"role": "user", "chunks": [{"text": "hi"}]},
                    {
                        "role": "shop",
                        "chunks": [
                            {"text": "x"},
                            {
                                "toolCall": {
                                    "id": "c1",
                                    "tool": "projects/p/tools/t1",
                                    "displayName": "search",
                                    "args": {"q": "lamp"},
                                }
                            },
                        ],
                    },
                    {
                        "role": "shop",
                        "chunks": [
                            {"toolResponse": {"id": "c1", "tool": "projects/p/tools/t1", "response": {"result": 1}}},
                            {"agentTransfer": {"targetAgent": "projects/p/agents/b", "displayName": "billing"}},
                        ],
                    },
                ]
            }
        ]
    },
    "named-runs": {
        "missing_arg": {
            "contents": [
                {
                    "role": "model",
                    "parts": [{"function_call": {"id": "adk-1", "args": {"skill_name": ""}, "name": "load_skill"}}],
                },
                {
                    "role": "user",
                    "parts": [
                        {
                            "function_response": {
                                "id": "adk-1",
                                "name": "load_skill",
                                "response": {
                                    "error": "Argument 'skill_name' is required.",
                                    "error_code": "INVALID_ARGUMENTS",
                                },
                            }
                        }
                    ],
                },
            ]
        }
    },
    "opentelemetry": {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
                "scopeSpans": [
                    {
                        "scope": {"name": "x"},
                        "spans": [
                            {
                                "traceId": "0af7651916cd43dd8448eb211c80319c",
                                "spanId": "00f067aa0ba902b7",
                                "name": "chat m",
                                "kind": 3,
                                "startTimeUnixNano": "1",
                                "endTimeUnixNano": "2",
                                "attributes": [
                                    {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                                    {
                                        "key": "gen_ai.input.messages",
                                        "value": {"stringValue": _INPUT},
                                    },
                                    {
                                        "key": "gen_ai.output.messages",
                                        "value": {"stringValue": _OUTPUT},
                                    },
                                ],
                            },
                            {
                                "traceId": "0af7651916cd43dd8448eb211c80319c",
                                "spanId": "00f067aa0ba902b8",
                                "name": "execute_tool search",
                                "kind": 1,
                                "startTimeUnixNano": "3",
                                "endTimeUnixNano": "4",
                                "status": {"code": 2, "message": "no"},
                                "attributes": [
                                    {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
                                    {"key": "gen_ai.tool.name", "value": {"stringValue": "search"}},
                                    {"key": "gen_ai.tool.call.id", "value": {"stringValue": "c1"}},
                                    {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": '{"q": 1}'}},
                                    {"key": "gen_ai.tool.call.result", "value": {"stringValue": '"ok"'}},
                                ],
                            },
                        ],
                    }
                ],
            }
        ]
    },
    "mistral-conversations-stream": [
        {"type": "conversation.response.started", "conversation_id": "x"},
        {"type": "message.output.delta", "id": "m", "output_index": 0, "content": "Looking."},
        {
            "type": "function.call.delta",
            "id": "f",
            "output_index": 1,
            "name": "search",
            "tool_call_id": "c1",
            "arguments": '{"q": ',
        },
        {
            "type": "function.call.delta",
            "id": "f",
            "output_index": 1,
            "name": "search",
            "tool_call_id": "c1",
            "arguments": "1}",
        },
        {"type": "conversation.response.done", "usage": {}},
    ],
    "langfuse": {
        "data": [
            {
                "id": "o1",
                "traceId": "t",
                "type": "GENERATION",
                "name": "chat",
                "startTime": "2026-01-01T00:00:00Z",
                "endTime": "2026-01-01T00:00:01Z",
                "input": [{"role": "user", "content": "hi"}],
                "output": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": 1}'}}
                    ],
                },
            },
            {
                "id": "o2",
                "traceId": "t",
                "type": "TOOL",
                "name": "search",
                "startTime": "2026-01-01T00:00:02Z",
                "endTime": "2026-01-01T00:00:03Z",
                "input": '{"q": 1}',
                "output": '"ok"',
                "level": "ERROR",
                "statusMessage": "no",
            },
        ]
    },
    "langfuse-chatml": {
        "o1": {
            "input": {"success": True, "data": [{"role": "user", "content": "hi", "tools": [{"name": "search"}]}]},
            "output": {
                "success": True,
                "data": [
                    {
                        "role": "assistant",
                        "tool_calls": [{"id": "c1", "name": "search", "arguments": '{"q": 1}', "type": "function"}],
                        "json": {"finish_reason": "tool_calls"},
                    }
                ],
            },
        },
        "o2": {
            "input": {
                "success": True,
                "data": [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "tool_calls": [{"id": "c1", "name": "search", "arguments": '{"q": 1}'}]},
                    {"role": "tool", "tool_call_id": "c1", "content": "ok", "json": {"status": "success"}},
                ],
            },
            "output": {"success": True, "data": [{"role": "assistant", "json": {"text": "Done."}}]},
        },
    },
    "langsmith": [
        {
            "id": "r1",
            "trace_id": "r1",
            "run_type": "chain",
            "name": "agent",
            "start_time": "2026-01-01T00:00:00",
            "inputs": {"q": "hi"},
            "child_runs": [
                {
                    "id": "r2",
                    "run_type": "llm",
                    "name": "chat",
                    "start_time": "2026-01-01T00:00:01",
                    "end_time": "2026-01-01T00:00:02",
                    "inputs": {"messages": [{"role": "user", "content": "hi"}]},
                    "outputs": {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [
                            {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": 1}'}}
                        ],
                    },
                },
            ],
        },
        {
            "id": "r3",
            "trace_id": "r1",
            "parent_run_id": "r1",
            "dotted_order": "20260101T000000000000Zr1.20260101T000003000000Zr3",
            "run_type": "tool",
            "name": "search",
            "inputs": {"input": "{'q': 1}"},
            "extra": {"metadata": {"thread_id": "t"}},
        },
        {
            "id": "r3",
            "dotted_order": "20260101T000000000000Zr1.20260101T000003000000Zr3",
            "end_time": "2026-01-01T00:00:04",
            "outputs": {"output": "ok"},
            "error": None,
        },
    ],
}
