"""Simulations: a simulated user talks to an agent; a judge and the tool checks decide.

`Plan` says how, `prepare` finds out what can be known before the first run, `simulate` yields a `Row` for each run.
"""

from __future__ import annotations

from tracewitness.evals.simulation.agents import agent_from, agent_of
from tracewitness.evals.simulation.budget import Budget
from tracewitness.evals.simulation.conversation import Agent, AgentTurn, Conversation, Session, Usage, UserTurn
from tracewitness.evals.simulation.journal import Identity, Journal, write_results
from tracewitness.evals.simulation.judge import Judge
from tracewitness.evals.simulation.models import ModelClient, Retries
from tracewitness.evals.simulation.plan import Limits, Plan, prepare
from tracewitness.evals.simulation.results import Row
from tracewitness.evals.simulation.runner import simulate
from tracewitness.evals.simulation.traffic import Traffic
from tracewitness.evals.simulation.user import SimulatedUser

__all__ = [
    "Agent",
    "AgentTurn",
    "Budget",
    "Conversation",
    "Identity",
    "Journal",
    "Judge",
    "Limits",
    "ModelClient",
    "Plan",
    "Retries",
    "Row",
    "Session",
    "SimulatedUser",
    "Traffic",
    "Usage",
    "UserTurn",
    "agent_from",
    "agent_of",
    "prepare",
    "simulate",
    "write_results",
]
