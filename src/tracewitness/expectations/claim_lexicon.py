"""What agents say they did: verbs with their forms, what they are done to, and which tools such words stand for.

The ready set speaks of what agents in customer service and offices mostly do. It is made so that it rather finds a
tool that could have done what is said than none: it catches the agent that did nothing of the kind, and an eval file
that names tool, verbs and objects is stricter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from msgspec import Struct

from tracewitness.display import show
from tracewitness.errors import ExpectationError

__all__ = [
    "ANYTHING",
    "READY",
    "Action",
    "Lexicon",
    "claim_noun",
    "claim_verb",
    "could_do",
    "nouns_of_tool",
    "past_forms",
    "singular",
    "verb_of_tool",
    "words_of_tool",
]

#: An object that a pronoun stands for: nobody knows which.
ANYTHING: Final = "it"


class Action(Struct, frozen=True):
    """A kind of thing that agents do.

    Attributes:
        verbs: base forms; particles may follow, as in ``call off``.
        objects: what it is done to, in the singular; empty where the verb alone says enough.
        tools: words of which a tool's name has one if it does this.
        implied: whether it may come with another act, as a refund comes with a return.
    """

    verbs: tuple[str, ...]
    objects: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    implied: bool = False


_IRREGULAR: Final = {
    "buy": ("bought",),
    "cut": ("cut",),
    "do": ("did", "done"),
    "find": ("found",),
    "get": ("got", "gotten"),
    "give": ("gave", "given"),
    "hold": ("held",),
    "make": ("made",),
    "pay": ("paid",),
    "put": ("put",),
    "rebuild": ("rebuilt",),
    "resend": ("resent",),
    "reset": ("reset",),
    "sell": ("sold",),
    "send": ("sent",),
    "set": ("set",),
    "shut": ("shut",),
    "take": ("took", "taken"),
    "withdraw": ("withdrew", "withdrawn"),
    "write": ("wrote", "written"),
}


def past_forms(verb: str) -> tuple[str, ...]:
    """Return the past forms of a verb, both of two spellings.

    >>> past_forms("cancel"), past_forms("modify"), past_forms("set up")
    (('canceled', 'cancelled'), ('modified',), ('set up',))
    """
    head, space, particle = verb.partition(" ")
    return tuple(form + space + particle for form in _past_forms(head))


def _past_forms(verb: str) -> tuple[str, ...]:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return (verb + "d",)
    if re.search(r"[^aeiou]y$", verb):
        return (verb[:-1] + "ied",)
    if re.search(r"[^aeiou][aeiou][bdglmnprt]$", verb):
        return (verb + "ed", verb + verb[-1] + "ed")
    return (verb + "ed",)


def singular(noun: str) -> str:
    """Return a noun in the singular, as far as a rule goes.

    >>> singular("orders"), singular("addresses"), singular("copies"), singular("address")
    ('order', 'address', 'copy', 'address')
    """
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if re.search(r"(?:ss|x|ch|sh)es$", noun):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us")) and len(noun) > 3 else noun


#: Nouns that name the same kind of thing: a tool on a booking does not place an order.
_KINDS: Final[dict[str, tuple[str, ...]]] = {
    "goods": ("order", "purchase", "item", "product", "package", "cart", "piece", "exchange", "return", "shipment"),
    "booking": (
        *("booking", "reservation", "flight", "hotel", "room", "table", "trip", "car", "seat", "ticket", "ride"),
        *("appointment", "meeting", "event", "visit", "baggage", "bag", "passenger", "stay", "slot", "tour", "call"),
    ),
    "account": (
        *("account", "profile", "address", "email", "phone", "number", "password", "name", "user", "customer"),
        *("detail", "setting", "preference", "pin", "login"),
    ),
    "money": ("refund", "payment", "money", "amount", "charge", "fund", "credit", "fee", "invoice", "discount"),
    "case": ("ticket", "case", "issue", "complaint", "claim", "incident", "report"),
    "contract": ("subscription", "membership", "plan", "service", "policy", "contract", "line"),
    "message": (
        *(
            "email",
            "message",
            "sms",
            "link",
            "receipt",
            "confirmation",
            "invoice",
            "text",
            "copy",
            "code",
            "invitation",
        ),
        *("reminder", "notification", "instruction", "label"),
    ),
    "data": ("file", "document", "record", "folder", "note", "row", "entry", "page", "branch", "repository"),
}
_KINDS_OF: Final = {
    noun: frozenset(kind for kind, nouns in _KINDS.items() if noun in nouns)
    for noun in {noun for nouns in _KINDS.values() for noun in nouns}
}
_ALL_NOUNS: Final = tuple(_KINDS_OF)
#: A tool on these does nothing to any of those.
_PEOPLE: Final = frozenset({"human", "agent", "representative", "specialist", "supervisor"})
#: Nouns for an act, which count as the act itself: a request for anything, a change of anything.
_ACTS: Final = ("request", "change", "update", "cancellation", "application", "modification")
_MAKING: Final = (
    *("create", "place", "submit", "make", "add", "book", "order", "buy", "purchase", "new", "insert", "checkout"),
    *("reserve", "schedule", "post", "put", "write", "open", "file", "raise", "log", "issue", "start", "register"),
)
_CHANGING: Final = (
    *("update", "change", "modify", "edit", "set", "correct", "amend", "patch", "replace", "move", "reset", "put"),
    *("write", "save", "reschedule", "exchange", "switch", "upgrade", "downgrade", "toggle", "enable", "disable"),
)
_MONEY_BACK: Final = ("refund", "return", "reimburse", "credit", "cancel", "compensate", "repay", "reverse", "exchange")
_PAYING: Final = (
    "pay",
    "payment",
    "charge",
    "transfer",
    "send",
    "checkout",
    "order",
    "purchase",
    "buy",
    "book",
    "bill",
)
_SENDING: Final = ("send", "email", "mail", "notify", "message", "text", "sms", "share", "post", "forward", "reply")
_ENDING: Final = ("cancel", "void", "revoke", "terminate", "stop", "end", "delete", "remove", "close", "unsubscribe")

#: What agents say in English, and the tools that it stands for.
READY: Final[tuple[Action, ...]] = (
    Action(("cancel", "void", "call off", "terminate"), (), _ENDING),
    Action(("refund", "reimburse"), (), _MONEY_BACK, implied=True),
    Action(
        ("process", "issue", "initiate", "submit", "approve", "complete", "arrange", "send", "apply", "start", "make"),
        ("refund", "reimbursement"),
        _MONEY_BACK,
        implied=True,
    ),
    Action(("process", "make", "complete", "submit", "take", "send"), ("payment", "charge"), _PAYING),
    Action(("process", "initiate", "submit", "start", "complete", "arrange"), ("return",), ("return", "refund")),
    Action(("process", "initiate", "submit", "complete", "arrange"), ("exchange",), ("exchange", "swap", "replace")),
    Action(("process", "complete", "submit"), ("cancellation",), _ENDING),
    Action(("return",), ("item", "order", "product", "package", "purchase"), ("return", "refund")),
    Action(("exchange", "swap"), ("item", "order", "product", "purchase", "seat"), ("exchange", "swap", *_CHANGING)),
    Action(("book", "rebook", "reserve"), (), (*_MAKING, *_CHANGING, "rebook", "reservation", "booking")),
    Action(
        ("place", "submit", "process", "complete", "finalize", "create", "make", "put in", "confirm"),
        ("order", "purchase", "booking", "reservation", "appointment"),
        (*_MAKING, "reservation", "booking", "confirm"),
    ),
    Action(("purchase", "buy", "order"), _ALL_NOUNS, _MAKING),
    Action(
        ("schedule", "arrange", "set up"),
        ("appointment", "meeting", "call", "visit", "delivery", "pickup", "event", "reminder", "callback"),
        (*_MAKING, *_CHANGING),
    ),
    Action(("reschedule",), (), (*_CHANGING, "schedule", "book", "rebook")),
    Action(
        ("update", "change", "modify", "edit", "correct", "amend", "reset", "move", "switch", "set"),
        _ALL_NOUNS,
        _CHANGING,
    ),
    Action(("submit", "process", "file", "complete", "send"), _ACTS, ()),
    Action(("make",), ("change", "update", "modification"), ()),
    Action(
        ("create", "open", "file", "raise", "log", "submit", "register"),
        ("ticket", "case", "complaint", "claim", "incident", "report", "account", "issue", "profile", "document"),
        (*_MAKING, "ticket", "claim", "case"),
    ),
    Action(("send", "resend", "email", "text", "forward"), _KINDS["message"], _SENDING),
    Action(("delete", "erase"), (), (*_ENDING, "delete", "erase", "drop", "clear", "purge")),
    Action(("remove",), _ALL_NOUNS, ("remove", "delete", "clear", *_CHANGING)),
    Action(("add",), _ALL_NOUNS, (*_MAKING, *_CHANGING)),
    Action(("upgrade", "downgrade"), (), _CHANGING),
    Action(("transfer", "wire"), ("money", "amount", "fund", "payment", "credit"), _PAYING),
    Action(("charge",), ("card", "account", "amount", "money", "fee", "you"), _PAYING),
    Action(("apply",), ("discount", "credit", "coupon", "voucher", "code"), ("apply", "add", "discount", *_CHANGING)),
    Action(
        ("activate", "deactivate", "enable", "disable", "suspend", "block", "unlock", "freeze", "close"),
        ("account", "card", "service", "line", "subscription", "plan", "ticket", "case", "feature"),
        (*_CHANGING, "activate", "deactivate", "suspend", "resume", "block", "unlock", "freeze", "close", "cancel"),
    ),
    Action(("escalate",), (), ("escalate", "transfer", "handoff", "create", "ticket", "assign", "notify")),
    Action(("enroll", "unsubscribe", "register"), ("you",), (*_MAKING, *_CHANGING, "enroll", "subscribe", *_ENDING)),
)
#: Tools that only look; they do nothing that could be claimed.
_LOOKING: Final = frozenset(
    "get list search find check read look lookup fetch query view calculate think verify show describe count".split()  # noqa: SIM905
)


class Lexicon:
    """The verbs of some actions, by their forms.

    Arguments:
        actions: with the verbs that count.
    """

    def __init__(self, actions: Iterable[Action]) -> None:
        self.actions = tuple(actions)
        #: For the first word of a form, its verbs, each with the particle that must follow.
        self.forms: dict[str, dict[str, str]] = {}
        for verb in dict.fromkeys(verb for action in self.actions for verb in action.verbs):
            for form in past_forms(verb):
                head, _, particle = form.partition(" ")
                self.forms.setdefault(head, {})[verb] = particle
        self._objects: dict[str, frozenset[str]] = {}
        for action in self.actions:
            for verb in action.verbs:
                known = self._objects.get(verb)
                anything = (known is not None and not known) or not action.objects
                self._objects[verb] = frozenset() if anything else frozenset(action.objects) | (known or frozenset())
        self.objects = frozenset(noun for action in self.actions for noun in action.objects) | frozenset(_ALL_NOUNS)

    def objects_of(self, verb: str) -> frozenset[str]:
        """Return what a verb must be done to so that it counts; empty where anything will do."""
        return self._objects[verb]

    def matching(self, verb: str, noun: str) -> list[Action]:
        """Return the actions that are meant by a verb done to something."""
        return [
            action
            for action in self.actions
            if verb in action.verbs and (not action.objects or noun == ANYTHING or noun in action.objects)
        ]


def words_of_tool(name: str) -> tuple[str, ...]:
    """Return the words of a tool's name, in the singular, each once.

    >>> words_of_tool("mcp__shop__createOrders")
    ('mcp', 'shop', 'create', 'order')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(dict.fromkeys(singular(word) for word in re.findall(r"[a-z0-9]+", spaced.lower())))


@cache
def could_do(action: Action, noun: str, tool: str) -> bool:
    """Whether a tool of this name could have done what is said, by the ready set.

    One of the words of the action must be in the name; and where the name speaks of things of some kind, what was
    said must be of that kind. What is said of a request or a change is done by any tool that does more than look.
    """
    words = frozenset(words_of_tool(tool))
    if words and words <= _LOOKING | set(_ALL_NOUNS) and words & _LOOKING:
        return False
    if not action.tools:
        return not words & _LOOKING
    if words.isdisjoint(action.tools):
        return False
    kinds: frozenset[str] = frozenset().union(*(_KINDS_OF.get(word, frozenset()) for word in words))
    kinds |= {"people"} if words & _PEOPLE else set()
    own = _KINDS_OF.get(noun, frozenset())
    return action.implied or not kinds or not own or bool(kinds & own)


def verb_of_tool(tool: str) -> str | None:
    """Return the verb that a tool's own name begins with; None where none is known.

    >>> verb_of_tool("cancel_order"), verb_of_tool("frobnicate")
    ('cancel', None)
    """
    known = {verb for action in READY for verb in action.verbs}
    return next((word for word in words_of_tool(tool) if word in known), None)


def nouns_of_tool(tool: str) -> tuple[str, ...]:
    """Return the things that a tool's own name speaks of; where none is known, its last word.

    >>> nouns_of_tool("cancel_pending_order"), nouns_of_tool("send_certificate"), nouns_of_tool("cancel")
    (('order',), ('certificate',), ())
    """
    others = [word for word in words_of_tool(tool) if word != verb_of_tool(tool)]
    return tuple(word for word in others if word in _KINDS_OF) or tuple(others[-1:])


def claim_verb(given: Any) -> str:
    """Accept the base form of an English verb, perhaps with a particle.

    Raises:
        ExpectationError: it is none.
    """
    return _words(given, "a verb in its base form, as cancel or call off")


def claim_noun(given: Any) -> str:
    """Accept an English noun; it is kept in the singular.

    Raises:
        ExpectationError: it is none.
    """
    return singular(_words(given, "a noun of one word, as order", most=1))


def _words(given: Any, what: str, most: int = 2) -> str:
    words = given.lower().split() if isinstance(given, str) else []
    if not 1 <= len(words) <= most or not all(re.fullmatch(r"[a-z][a-z-]*", word) for word in words):
        raise ExpectationError(f"expected {what}, got {show(given)}")
    return " ".join(words)
