"""Find what an agent says it has done, in English, by rules alone: “I've cancelled your order”, “it has been refunded”.

A claim is a verb in its past form, said of the agent itself (“I have placed …”, “we just sent …”), or in the passive
with nobody named (“your refund has been processed”, “your booking is confirmed”, “Order cancelled.”), done to
something. These are none: what is denied, asked, offered, planned, supposed or conditional; what is quoted; what
others did or say (“the system says …”, “you cancelled …”, “… by the airline”); and what is told of an earlier day.

A sentence that is hard to tell is taken as a claim where it says in so many words that the thing is done, since a
check fails closed; and as none where its verb is not known, since nobody could say which tool it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from tracewitness.expectations.claim_lexicon import ANYTHING, Lexicon, singular

__all__ = ["Said", "claims_in"]

#: Of a message so much is read; more is no reply to a person.
_LONGEST: Final = 20_000


class Said(Struct, frozen=True):
    """One claim.

    Attributes:
        verb: its base form.
        noun: what was done to, in the singular; `ANYTHING` where a pronoun stands for it.
        words: the clause as it was written.
    """

    verb: str
    noun: str
    words: str


def claims_in(text: str, lexicon: Lexicon) -> list[Said]:
    """Return what a message says that the agent did, each thing once.

    >>> from tracewitness.expectations.claim_lexicon import READY
    >>> lexicon = Lexicon(READY)
    >>> [(said.verb, said.noun) for said in claims_in("I've cancelled your order. Shall I book the flight?", lexicon)]
    [('cancel', 'order')]
    """
    found = [said for sentence in _sentences(text[:_LONGEST]) for said in _claims_of(sentence, lexicon)]
    return list({(said.verb, said.noun): said for said in reversed(found)}.values())[::-1]


# ---------------------------------------------------------------------------------------- sentences

_QUOTED = re.compile(
    r"```.*?```|`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d]{0,500}\u201d|\u00ab[^\u00bb]{0,500}\u00bb"
    r"|\u2018[^\u2019\n]{0,500}\u2019(?!\w)|(?<!\w)'[^'\n]*'(?!\w)",
    re.DOTALL,
)
#: A closing quotation mark within a word closes nothing.
_APOSTROPHE = re.compile(r"(?<=\w)\u2019(?=\w)")
_CITED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_MARKUP = re.compile(r"[*_#]+(?=\S)|(?<=\S)[*_]+|^[ \t]*(?:[-*•]|\d+[.)])[ \t]+", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+|[;•✅✓]")
_ABBREVIATION = re.compile(r"\b(Dr|Mr|Mrs|Ms|No|St|e\.g|i\.e|approx)\.", re.IGNORECASE)
_CONTRACTIONS: Final = (
    (r"\bcan't\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"\bcannot\b", "can not"),
    (r"n't\b", " not"),
    (r"'ve\b", " have"),
    (r"'ll\b", " will"),
    (r"'d\b", " would"),
    (r"'m\b", " am"),
    (r"'re\b", " are"),
    (r"'s\b", " 's"),
    (r"\b(?:gone|went) ahead and\b", ""),
    (r"\bnot only\b", ""),
)


def _sentences(text: str) -> Iterator[str]:
    text = _CITED_LINE.sub(" ", _APOSTROPHE.sub("'", text))
    text = _MARKUP.sub("", _QUOTED.sub(" QUOTE ", text))
    text = _ABBREVIATION.sub(r"\1", text)
    for sentence in _END.split(text):
        if sentence.strip():
            yield sentence.strip()


# ---------------------------------------------------------------------------------------- clauses

_TOKEN = re.compile(r"'s\b|[#$€£]?[\w][\w.,'/@-]*[\w]|[#$€£]?\w")
_WHOLE_ASIDE = re.compile(r",\s*(?:as|per)\s+[^,]{1,40},")
_CLAUSE = re.compile(
    r"\s*(?:,\s*(?:and|but|so|or|because|since|which|while|where|though|although)\b|[:,]|\s[-\u2013\u2014]+\s|\u2014|\s\(|\)"
    r"|\b(?:but|because|since|although|though|so that)\b)\s*"
)
#: What only leads up to a claim: “I'm happy to confirm that …”.
_AFFIRMING = re.compile(
    r"^(?:(?:and|so|ok|okay|yes|sure|alright|great|perfect|thanks|no (?:problem|worries)|done|also|note)\b\W*)*"
    r"(?:i(?: am)? (?:(?:very |so )?(?:happy|pleased|glad|delighted|writing|able) to |can (?:now |also )?|just |hereby "
    r"|(?:want(?:ed)?|would like|need) to |do )?"
    r"(?:confirm|inform you|let you know|tell you|say|report|announce|assure you)(?: that)?"
    r"|(?:this is )?(?:just )?to (?:let you know|confirm|inform you)(?: that)?"
    r"|(?:please )?(?:be|rest) (?:assured|advised|informed)(?: that)?|please note(?: that)?|good news)\b\W*"
)


class _Clause(Struct, frozen=True):
    """A piece of a sentence between commas and conjunctions, in lower case.

    Attributes:
        tokens: its words.
        words: as it was written, but for what was quoted.
        joined: whether it goes on the clause before it with an “and”.
        is_asked: whether a question mark ends it.
    """

    tokens: tuple[str, ...]
    words: str
    joined: bool
    is_asked: bool


def _clauses(sentence: str) -> list[_Clause]:
    plain = _WHOLE_ASIDE.sub(" ", sentence)
    clauses = []
    at = 0
    joined = False
    for found in (*_CLAUSE.finditer(plain.lower()), None):
        end = len(plain) if found is None else found.start()
        words = plain[at:end].strip()
        if words:
            is_asked = found is None and plain.rstrip().endswith("?")
            clauses.append(_Clause(_tokens(words), words, joined, is_asked))
        if found is not None:
            at = found.end()
            joined = found.group().strip() in (",", ", and", ",and")
    return clauses


def _tokens(words: str) -> tuple[str, ...]:
    plain = words.lower()
    for pattern, replacement in _CONTRACTIONS:
        plain = re.sub(pattern, replacement, plain)
    plain = _AFFIRMING.sub("", re.sub(r"\s+", " ", plain).strip())
    return tuple(_TOKEN.findall(plain))


# ---------------------------------------------------------------------------------------- words

_SELF: Final = frozenset({"i", "we"})
_ADVERBS: Final = frozenset(
    {
        *("already", "just", "now", "also", "then", "since", "indeed", "both", "all", "hereby", "once", "again"),
        *("so", "too", "even", "quite", "well", "instead", "therefore", "officially", "as", "requested"),
    }
)
_NOT_ADVERBS: Final = frozenset({"reply", "supply", "apply", "family", "july", "only", "hardly", "barely", "nearly"})
_NEGATIONS: Final = frozenset(
    {
        "not",
        "never",
        "no",
        "nothing",
        "none",
        "neither",
        "nor",
        "without",
        "hardly",
        "barely",
        "yet",
        "unable",
        "nobody",
    }
)
_MODALS: Final = frozenset(
    {
        *("will", "would", "can", "could", "may", "might", "shall", "should", "must", "let", "please", "wish", "hope"),
        *("expected", "supposed", "pretend", "imagine", "try", "tried", "failed", "want", "wanted", "need", "needs"),
        *("going", "about", "ready", "ensure", "make"),
    }
)
_CONDITIONS: Final = frozenset(
    {
        *("if", "whether", "unless", "until", "till", "once", "when", "whenever", "before", "after", "while", "soon"),
        *("case", "assuming", "suppose", "provided"),
    }
)
_HABITS: Final = frozenset({"automatically", "usually", "always", "typically", "normally", "generally", "often"})
_REPORTING: Final = frozenset(
    {
        *(
            "say",
            "says",
            "said",
            "show",
            "shows",
            "showed",
            "shown",
            "indicate",
            "indicates",
            "indicated",
            "told",
            "tell",
        ),
        *(
            "mention",
            "mentioned",
            "mentions",
            "state",
            "states",
            "stated",
            "see",
            "saw",
            "seen",
            "seems",
            "seem",
            "looks",
        ),
        *("appears", "appear", "according", "understand", "read", "heard", "noticed", "claim", "claims", "claimed"),
        *("reports", "reported", "suggests", "suggest", "asked", "wrote", "writes", "think", "thought", "know", "knew"),
    }
)
_NO_REPORT: Final = _MODALS | _CONDITIONS | _NEGATIONS | _REPORTING
_OTHERS: Final = frozenset({"you", "they", "he", "she", "who", "customer", "user", "seller", "airline", "someone"})
_BEING: Final = frozenset({"is", "are", "was", "were", "'s", "am"})
_AUXILIARIES: Final = _BEING | {"been", "have", "has", "had"}
_NO_THING: Final = _SELF | _OTHERS | _BEING | {"to"}
_DETERMINERS: Final = frozenset(
    {
        *(
            "your",
            "the",
            "a",
            "an",
            "this",
            "that",
            "these",
            "those",
            "both",
            "all",
            "our",
            "one",
            "two",
            "three",
            "it",
        ),
        *("them", "another", "each", "every", "you", "everything", "some", "any", "my", "his", "her", "their", "its"),
    }
)
_PRONOUNS: Final = frozenset({"it", "this", "that", "them", "these", "those", "they", "everything", "both", "all"})
_BETWEEN: Final = frozenset({"at", "for", "of", "on", "with", "from", "to", "in", "under", "number", "no", "id", "you"})
#: A noun before one of these is only what that is about.
_HEADS: Final = frozenset(
    {
        "detail",
        "history",
        "status",
        "information",
        "page",
        "policy",
        "form",
        "option",
        "summary",
        "list",
        "date",
        "type",
    }
)
_STOPS: Final = frozenset(
    {
        *("and", "that", "which", "because", "so", "but", "to", "on", "at", "with", "in", "from", "by", "for", "under"),
        *("via", "as", "after", "before", "if", "when", "while", "into"),
    }
)
_OTHER_PASTS: Final = frozenset({"found", "made", "spoke", "took", "sent", "got"})
_BY_OTHERS = re.compile(
    r"\bby (?!(?:me|us|our|now|then|e?-?mail|phone|text|card|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b)"
)
_DAYS: Final = re.compile(
    r"\b(?:yesterday|ago|last (?:week|month|year|night|\w+day)|earlier this|previously|in (?:19|20)\d\d|on (?:the )?"
    r"(?:\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)?\b|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*)|in "
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december))\b"
)


def _is_adverb(token: str) -> bool:
    return token in _ADVERBS or (token.endswith("ly") and token not in _NOT_ADVERBS)


def _is_past(token: str, lexicon: Lexicon) -> bool:
    return (
        token in lexicon.forms
        or (token.endswith("ed") and len(token) > 4)
        or token in ("found", "made", "spoke", "took")
    )


# ---------------------------------------------------------------------------------------- claims


def _claims_of(sentence: str, lexicon: Lexicon) -> Iterator[Said]:
    """Find the claims of a sentence, clause by clause; an “and” goes on with the subject of what was done before."""
    carried = False  # whether the clause before said what the agent itself has done
    reported = False  # whether what somebody says goes on
    conditional = False  # whether a condition came first
    for clause in _clauses(sentence):
        tokens = clause.tokens
        if not tokens:
            continue
        if reported and clause.joined and tokens[0] not in _SELF:
            continue
        reader = _Reader(clause, lexicon, carried=carried and clause.joined, after_condition=conditional)
        if not clause.is_asked:
            yield from reader.claims()
        carried = reader.did_something
        reported = _opens_report(tokens)
        conditional = tokens[0] in _CONDITIONS


def _opens_report(tokens: tuple[str, ...]) -> bool:
    return tokens[0] == "according" or (len(tokens) > 1 and tokens[-1] in _REPORTING)


class _Reader:
    """Reads one clause.

    Attributes:
        did_something: whether it says that the agent itself did something, so that an “and” may go on with it.
    """

    def __init__(self, clause: _Clause, lexicon: Lexicon, *, carried: bool, after_condition: bool) -> None:
        self._after_condition = after_condition
        self._tokens = clause.tokens
        self._words = clause.words
        self._lexicon = lexicon
        self.did_something = carried

    def claims(self) -> Iterator[Said]:
        """Find the claims of the clause."""
        for at, token in enumerate(self._tokens):
            if not _is_past(token, self._lexicon):
                continue
            voice = self._voice(at)
            if voice == "active":
                self.did_something = True
            if voice is None:
                continue
            for verb, noun in self._done(at, voice):
                yield Said(verb, noun, self._words)

    def _voice(self, at: int) -> str | None:
        """Return how a past form is meant: ``active``, ``passive`` or ``bare``; None where it is no claim."""
        tokens = self._tokens
        before = self._back_over_adverbs(at)
        if before < 0:
            return "bare" if self._starts_bare(at) else ("active" if self.did_something else None)
        word = tokens[before]
        if word in ("have", "had"):
            return self._perfect(before)
        if word == "been":
            return self._passive(before, perfect=True)
        if word in _BEING:
            return self._passive(before, perfect=False)
        if word in _SELF:
            return "active" if self._may_claim(before) else None
        if word in ("and", "then") and self.did_something:
            return "active"
        return "bare" if self._follows_noun(before) else None

    def _perfect(self, at: int) -> str | None:
        subject = self._back_over_adverbs(at)
        if subject >= 0 and self._tokens[subject] in _SELF and self._may_claim(subject):
            return "active"
        return None

    def _passive(self, at: int, *, perfect: bool) -> str | None:
        """Test a passive: its auxiliaries, its subject, and that nobody else is named."""
        auxiliary = self._back_over_adverbs(at) if perfect else at
        if auxiliary < 0 or (perfect and self._tokens[auxiliary] not in ("have", "has", "had", "'s")):
            return None
        if not self._may_claim(auxiliary) or self._is_told(at, perfect=perfect):
            return None
        if not perfect and self._is_general(at):
            return None
        return "passive"

    def _may_claim(self, end: int) -> bool:
        """Whether nothing up to a word denies, supposes, asks or reports what follows."""
        if any(token in _CONDITIONS or token in _REPORTING for token in self._tokens[:end]):
            return False
        own = self._tokens[self._part_start(end) : end]
        return not any(token in _NEGATIONS or token in _MODALS for token in own) and not self._is_inverted(end)

    def _part_start(self, end: int) -> int:
        """Return where the part of a clause begins in which a word stands: after an “and” that follows a verb."""
        for at in range(end - 1, 0, -1):
            if self._tokens[at] == "and" and any(self._is_verb(token) for token in self._tokens[:at]):
                return at + 1
        return 0

    def _is_verb(self, token: str) -> bool:
        return token in _BEING or token in _MODALS or token in ("have", "has", "had") or _is_past(token, self._lexicon)

    def _is_inverted(self, end: int) -> bool:
        """Whether the auxiliary comes first, as in “have I cancelled”."""
        return self._tokens[0] in ("have", "has", "had", "did", "do", "does", *_BEING) and end > 0

    def _is_told(self, at: int, *, perfect: bool) -> bool:
        """Whether a passive tells of somebody else's act, or of an earlier day."""
        after = " ".join(self._tokens[at:])
        agent = re.search(
            r"\bby (?!(?:me|us|our|now|then|e?-?mail|phone|text|card|(?:mon|tues|wednes|thurs|fri)day)\b)", after
        )
        if agent is not None:
            return True
        return not perfect and self._tokens[at] in ("was", "were") and _DAYS.search(after) is not None

    def _is_general(self, at: int) -> bool:
        """Whether a passive in the present tells what is done as a rule: “refunds are issued”, “an order is placed”."""
        tokens = self._tokens
        if self._after_condition or _HABITS.intersection(tokens):
            return True
        first = tokens[self._part_start(at)]
        is_one = first in ("a", "an") and not {"you", "your"}.intersection(tokens)
        is_many = tokens[at] == "are" and first not in _DETERMINERS and first not in _PRONOUNS and first != "you"
        return tokens[at] in ("is", "are", "'s") and (is_one or is_many)

    def _back_over_adverbs(self, at: int) -> int:
        at -= 1
        while at >= 0 and _is_adverb(self._tokens[at]):
            at -= 1
        return at

    def _starts_bare(self, at: int) -> bool:
        """Whether a clause without a subject says what was done: “Cancelled your order.”"""
        rest = self._tokens[at + 1 : at + 3]
        if not rest or rest[0] in _DETERMINERS:
            return bool(rest)
        return singular(rest[0]) in self._lexicon.objects and any(map(str.isdigit, rest[-1]))

    def _follows_noun(self, noun_end: int) -> bool:
        """Whether a clause is no more than a thing and what was done to it: “Order O-1003 cancelled successfully”."""
        tokens = self._tokens
        if len(tokens) > 8 or any(token in _NO_REPORT for token in tokens):
            return False
        if not _NO_THING.isdisjoint(tokens[: noun_end + 1]):
            return False
        rest = tokens[noun_end + 2 :]
        if any(token in _BEING or token in ("have", "has", "be") for token in rest):
            return False
        return self._head(0, noun_end + 1) is not None

    # What it was done to.

    def _done(self, at: int, voice: str) -> Iterator[tuple[str, str]]:
        for verb, particle in self._lexicon.forms.get(self._tokens[at], {}).items():
            following = self._tokens[at + 1 : at + 2]
            if (particle and following != (particle,)) or self._tokens[at + 1 : at + 3] == ("on", "hold"):
                continue
            noun = self._object(at, voice, 1 if particle else 0)
            wanted = self._lexicon.objects_of(verb)
            if noun is not None and (not wanted or noun in wanted or (noun == ANYTHING and self._is_strong(verb))):
                yield verb, noun
                return

    def _is_strong(self, verb: str) -> bool:
        """Whether a pronoun is enough to know what was meant."""
        return not self._lexicon.objects_of(verb)

    def _object(self, at: int, voice: str, particles: int) -> str | None:
        if voice == "passive" or (voice == "bare" and at > 0 and not self._starts_bare(at)):
            end = self._subject_end(at)
            start = self._part_start(end)
            return self._head(start, end) or self._pronoun(start, end)
        first = at + 1 + particles
        stops = (number for number in range(first, len(self._tokens)) if self._tokens[number] in _STOPS)
        last = next(stops, len(self._tokens))
        if any(token in ("no", "nothing", "none", "neither") for token in self._tokens[first:last]):
            return None
        return self._head(first, last) or self._pronoun(first, last)

    def _subject_end(self, at: int) -> int:
        end = at
        while end > 0 and (self._tokens[end - 1] in _AUXILIARIES or _is_adverb(self._tokens[end - 1])):
            end -= 1
        return end

    def _head(self, first: int, last: int) -> str | None:
        """Return the noun that a phrase is about: the first known one that is not only a part of another's name."""
        for number in range(first, last):
            noun = singular(self._tokens[number])
            following = singular(self._tokens[number + 1]) if number + 1 < last else ""
            if noun not in self._lexicon.objects or noun == "you" or following in _HEADS:
                continue
            if following in self._lexicon.objects and following not in _BETWEEN:
                continue
            return noun
        return None

    def _pronoun(self, first: int, last: int) -> str | None:
        part = self._tokens[first:last]
        if "you" in part[:1]:
            return "you"
        if part and part[0].startswith(("$", "€", "£")):
            return "amount"
        if part and part[0] in _DETERMINERS:
            return ANYTHING
        return None
