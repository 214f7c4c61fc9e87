"""What secrets look like: in the name of a key, and in the middle of a text.

The rules are a table, written out here: what other scanners of repositories know is far more than an agent's traces
hold, and costs a second for each page. Each expression looks at any character a bounded number of times, whatever the
text: a run of characters is looked at from its beginning alone (``(?<!…)``), and nothing that repeats is repeated.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["HIDDEN", "is_card_number", "is_secret_name", "without_secrets"]

#: What stands in the place of what is hidden.
HIDDEN: Final = "[redacted]"

_NAMES: Final = frozenset(
    (
        *("auth", "authorization", "proxy_authorization", "cookie", "set_cookie", "bearer", "jwt", "token"),
        *("csrf_token", "xsrf_token", "client_key", "encryption_key", "master_key", "client_assertion", "secrets"),
        *("pass_phrase", "passcode", "pwd", "credential", "card_number", "credit_card_number", "cvc", "cvv", "ssn"),
    )
)
#: The last words of a name, which may have others before them. ``token`` alone is none of these: pages and calculations
#: have tokens as well.
_LAST_WORDS: Final = (
    *("_account_key", "_api_key", "_apikey", "_access_key", "_private_key", "_secret_key", "_signing_key"),
    *("_password", "_passwd", "_passphrase", "_secret", "_credentials", "_connection_string"),
    *("_access_token", "_api_token", "_auth_token", "_bearer_token", "_id_token", "_oauth_token", "_refresh_token"),
    *("_bot_token", "_github_token", "_gitlab_token", "_security_token", "_session_token", "_slack_token"),
)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN_WORDS: Final = re.compile(r"[\s.-]+")
_LONGEST_NAME: Final = 100


def is_secret_name(name: str) -> bool:
    """Tell whether what stands under a key is a secret, by the key's name in any way of writing it.

    >>> [is_secret_name(name) for name in ("apiKey", "X-Api-Key", "db_password", "max_tokens", "next_page_token")]
    [True, True, True, False, False]
    """
    return len(name) <= _LONGEST_NAME and _is_secret_name(name)


@lru_cache(maxsize=4096)
def _is_secret_name(name: str) -> bool:
    words = _BETWEEN_WORDS.sub("_", _HUMP.sub("_", name.strip())).lower()
    return words in _NAMES or f"_{words}".endswith(_LAST_WORDS)


class _Shape(NamedTuple):
    """How one kind of secrets looks.

    Attributes:
        hints: texts of which one is in every text that has such a secret, in lower case; looking for them is cheap.
        pattern: finds one. Where it has a group ``secret``, only that is hidden.
        is_secret: has the last word on a match.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[re.Match[str]], bool] = lambda _match: True


def _key(*starts: str, then: str) -> _Shape:
    """Make the shape of keys that begin with one of some texts, and are a word of their own."""
    begin = "|".join(re.escape(start) for start in starts)
    return _Shape(
        tuple(start.lower() for start in starts), re.compile(rf"(?<![A-Za-z0-9_-])(?:{begin}){then}(?![A-Za-z0-9])")
    )


def _is_basic(match: re.Match[str]) -> bool:
    """Whether it is a name and a password; ``basic understanding`` is not."""
    text = match.group("secret")
    try:
        return b":" in base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False


def _has_digit(match: re.Match[str]) -> bool:
    return any(character.isdecimal() for character in match.group())


def _is_card(match: re.Match[str]) -> bool:
    return is_card_number(re.sub("[ -]", "", match.group()))


_CARDS: Final = re.compile(
    r"4\d{15}(?:\d{3})?|4\d{12}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14}"
)


def is_card_number(digits: str) -> bool:
    """Tell whether digits are the number of a payment card: of a length and beginning that an issuer has, and its last
    digit right (Luhn: ISO/IEC 7812-1, annex B).

    >>> is_card_number("4111111111111111"), is_card_number("4111111111111112")
    (True, False)
    """
    if not _CARDS.fullmatch(digits):
        return False
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(number - 9 * (number > 9) for number in doubled)) % 10 == 0


#: The names of secrets as they stand in prose, code, headers, addresses and JSON, before a colon or an equals sign.
_ASSIGNED: Final = (
    r"(?:access|account|api|auth|client|encryption|private|refresh|secret|session|shared|signing)[ _-]?(?:access[_-]?)?"
    r"(?:key|secret|token)|pass(?:word|wd|phrase|code)|pwd|secret"
)
_QUOTE: Final = r"(?:\\{0,8}[\"'])"
_VALUE: Final = rf"(?:{_QUOTE}(?P<secret>[^\"'\\\r\n]+)|(?P<bare>[^\s\"'\\,;&)}}<>]+))"

_SHAPES: Final = (
    # What needs no more than its beginning to be known. A text of words with hyphens between them has no digit.
    _key("sk-", then="[A-Za-z0-9_-]{20,}")._replace(is_secret=_has_digit),
    _key("sk_live_", "sk_test_", "rk_live_", "rk_test_", then="[A-Za-z0-9]{10,}"),
    _key("whsec_", then="[A-Za-z0-9+/]{16,}={0,2}"),
    _key("AKIA", "ASIA", "ABIA", "ACCA", then="[A-Z0-9]{16}"),
    _key("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", then="[A-Za-z0-9_]{22,}"),
    _key("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", then="[A-Za-z0-9_.-]{19,}[A-Za-z0-9_-]"),
    _key(
        "xoxa-",
        "xoxb-",
        "xoxe-",
        "xoxo-",
        "xoxp-",
        "xoxr-",
        "xoxs-",
        "xapp-",
        "xoxe.",
        then="[A-Za-z0-9.-]{9,}[A-Za-z0-9]",
    ),
    _key("AIza", then="[A-Za-z0-9_-]{35}"),
    _key("ya29.", "GOCSPX-", "1//0", then="[A-Za-z0-9_-]{20,}"),
    _key("npm_", "hf_", "r8_", "pplx-", "xai-", "gsk_", then="[A-Za-z0-9]{30,}"),
    _key("pypi-AgEIcHlwaS5vcmc", "AGE-SECRET-KEY-1", then="[A-Za-z0-9_-]{30,}"),
    _key("SG.", then=r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}"),
    _key("dop_v1_", "doo_v1_", "dor_v1_", "dapi", "shpat_", "shpss_", "shpca_", "shppa_", then="[a-f0-9]{32,64}"),
    _key("hvs.", "hvb.", "lin_api_", "ntn_", "lsv2_pt_", "lsv2_sk_", then="[A-Za-z0-9_-]{24,}"),
    _Shape(
        ("hooks.slack.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        re.compile(
            r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks)/"
            r"(?P<secret>[A-Za-z0-9_/-]{20,})"
        ),
    ),
    _Shape((":aa",), re.compile(r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9])")),
    # Signed claims: the first two parts are JSON objects in base64, which begin with eyJ.
    _Shape(
        ("eyj",),
        re.compile(
            r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{6,}\.(?:eyJ[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*|"
            r"[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)"
        ),
    ),
    # A block without an end has been cut; what there is of it is secret.
    _Shape(
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
        ),
    ),
    _Shape(
        ("://",),
        re.compile(
            r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/@:?#\"'<>]{0,200}:(?P<secret>[^\s/?#\"'<>]{1,200})@"
        ),
    ),
    _Shape(
        ("authorization",),
        re.compile(
            rf"(?<![A-Za-z])authorization{_QUOTE}?\s{{0,5}}[:=]\s{{0,5}}{_QUOTE}?"
            r"(?:(?:digest|aws4-hmac-sha256)\s{1,5}(?P<secret>[^\r\n\"'\\]+)"
            r"|(?:(?:apikey|basic|bearer|negotiate|token)\s{1,5})?(?P<bare>[^\s\"'\\,;]+))",
            re.IGNORECASE,
        ),
    ),
    _Shape(
        ("cookie",),
        re.compile(r"(?<![A-Za-z-])(?:set-)?cookie:\s{0,5}(?P<secret>[^\r\n\"'\\]+)", re.IGNORECASE),
    ),
    _Shape(
        ("bearer",),
        re.compile(r"(?<![A-Za-z0-9])bearer\s{1,5}(?P<secret>[A-Za-z0-9._~+/-]{12,}={0,3})", re.IGNORECASE),
        _has_digit,
    ),
    _Shape(
        ("basic",),
        re.compile(r"(?<![A-Za-z0-9])basic\s{1,5}(?P<secret>[A-Za-z0-9+/]{6,}={0,2})", re.IGNORECASE),
        _is_basic,
    ),
    _Shape(
        ("key", "secret", "token", "pass", "pwd"),
        re.compile(rf"(?<![A-Za-z])(?:{_ASSIGNED}){_QUOTE}?\s{{0,5}}[:=]\s{{0,5}}{_VALUE}", re.IGNORECASE),
    ),
    _Shape(("token=",), re.compile(r"[?&]token=(?P<secret>[^\s\"'\\&#<>]{6,})", re.IGNORECASE)),
)

_CARD: Final = _Shape(
    (),
    re.compile(
        r"(?<![A-Za-z0-9_.+-])(?:\d{13,19}|\d{4}(?P<gap>[ -])\d{4}(?P=gap)\d{4}(?P=gap)\d{4}"
        r"|3\d{3}(?P<space>[ -])\d{6}(?P=space)\d{4,5})(?![A-Za-z0-9_]|[.-]\d)"
    ),
    _is_card,
)
_MANY_DIGITS: Final = re.compile(r"\d[\d -]{11}")
_HINTS: Final = tuple(dict.fromkeys(hint for shape in _SHAPES for hint in shape.hints))


def without_secrets(text: str) -> str:
    """Return a text with the secrets in it hidden that are known by their shape.

    >>> without_secrets("export OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrst1234, please")
    'export OPENAI_API_KEY=[redacted], please'
    """
    if len(text) < _SHORTEST:
        return text
    for _ in range(_MOST_ROUNDS):  # what is hidden may have hidden the beginning of another secret
        before, text = text, _without_each(text)
        if text == before:
            break
    return text


def _without_each(text: str) -> str:
    lowered = text.lower()
    for shape in _SHAPES if _has_hint(lowered) else ():
        if any(hint in lowered for hint in shape.hints):
            text = shape.pattern.sub(lambda match, shape=shape: _hidden(match, shape), text)  # type: ignore[misc]
    if _MANY_DIGITS.search(text):
        text = _CARD.pattern.sub(lambda match: _hidden(match, _CARD), text)
    return text


def _has_hint(lowered: str) -> bool:
    """Whether a text may have a secret that a hint is for; most texts have none, and are not looked at further."""
    for hint in _HINTS:  # noqa: SIM110 - a generator would take twice as long, for each of very many texts
        if hint in lowered:
            return True
    return False


#: No secret that is known by its shape is shorter, with what it stands behind.
_SHORTEST: Final = 5
_MOST_ROUNDS: Final = 10


def _hidden(match: re.Match[str], shape: _Shape) -> str:
    if not shape.is_secret(match):
        return match.group()
    begin, end = _span(match)
    offset = match.start()
    return match.group()[: begin - offset] + HIDDEN + match.group()[end - offset :]


def _span(match: re.Match[str]) -> tuple[int, int]:
    """Return where in the text the secret stands."""
    for group in ("secret", "bare"):
        if group in match.re.groupindex and match.group(group) is not None:
            return match.span(group)
    return match.span()
