"""What is taken for a secret by its look, and what is not."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracewitness.secret_shapes import HIDDEN, is_card_number, is_secret_name, without_secrets

LETTERS = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6"
HEX = "0123456789abcdef" * 4
# In parts, so that no scanner takes this file for one with secrets in it.
CLAIMS = "ey" + "JhbGciOiJIUzI1NiJ9" + "." + "ey" + "JzdWIiOiIxMjM0In0" + "." + LETTERS[:43]
BLOCK = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nq2v8\n-----END RSA " + "PRIVATE KEY-----"

SECRETS = [
    "sk" + "-proj-" + LETTERS[:40],
    "sk" + "-ant-api03-" + LETTERS[:40],
    "sk" + "-or-v1-" + HEX,
    "sk" + "_live_" + LETTERS[:24],
    "rk" + "_test_" + LETTERS[:24],
    "whsec" + "_" + LETTERS[:32],
    "AK" + "IAIOSFODNN7EXAMPLE",
    "AS" + "IAIOSFODNN7EXAMPLE",
    "gh" + "p_" + LETTERS[:36],
    "gh" + "s_" + LETTERS[:36],
    "github" + "_pat_" + LETTERS[:22] + "_" + LETTERS[:40],
    "glpat" + "-" + LETTERS[:20],
    "xox" + "b-123456789012-123456789012-" + LETTERS[:24],
    "xapp" + "-1-A0B1C2D3-1234567890-" + HEX[:20],
    "AI" + "za" + LETTERS[:35],
    "ya29" + "." + LETTERS[:40],
    "GOC" + "SPX-" + LETTERS[:28],
    "npm" + "_" + LETTERS[:36],
    "hf" + "_" + LETTERS[:34],
    "gsk" + "_" + LETTERS[:52],
    "SG" + "." + LETTERS[:22] + "." + LETTERS[:43],
    "shpat" + "_" + HEX[:32],
    "dop" + "_v1_" + HEX,
    "hvs" + "." + LETTERS[:28],
    "lsv2" + "_pt_" + HEX[:32] + "_" + HEX[:10],
    "1234567890" + ":AA" + LETTERS[:33],
    CLAIMS,
    BLOCK,
    "4111111111111111",
    "4111 1111 1111 1111",
    "5555-5555-5555-4444",
    "378282246310005",
    "3782 822463 10005",
    "6011000990139424",
    "3530111333300000",
]


@pytest.mark.parametrize("secret", SECRETS, ids=[secret[:12] for secret in SECRETS])
@pytest.mark.parametrize(
    "around",
    ["{}", "the key is {}.", "({})", "'{}'", '{{"value": "{}"}}', "a={}&b=1", "<{}>", "first line\n{}\nlast line"],
)
def test_a_secret_is_hidden_wherever_it_stands(secret: str, around: str) -> None:
    assert without_secrets(around.format(secret)) == around.format(HIDDEN)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdefgh", "Authorization: Bearer [redacted]"),
        ("authorization: Basic dXNlcjpwdw==, next", "authorization: Basic [redacted], next"),
        ('-H "Authorization: Token abc123" https://x', '-H "Authorization: Token [redacted]" https://x'),
        ('{"Authorization": "Bearer abc.def", "a": 1}', '{"Authorization": "Bearer [redacted]", "a": 1}'),
        ('{\\"authorization\\": \\"Bearer abc\\"}', '{\\"authorization\\": \\"Bearer [redacted]\\"}'),
        ('Authorization: Digest username="u", realm="r"', 'Authorization: Digest [redacted]"u", realm="r"'),
        ("send Bearer " + LETTERS[:20] + " along", "send Bearer [redacted] along"),
        ("curl -u x; Basic " + base64.b64encode(b"user:hunter2").decode(), "curl -u x; Basic [redacted]"),
        ("Cookie: session=abc; other=d\nHost: x", "Cookie: [redacted]\nHost: x"),
        ("postgres://app:hunter2@db.internal/orders", "postgres://app:[redacted]@db.internal/orders"),
        ("redis://:hunter2@cache:6379", "redis://:[redacted]@cache:6379"),
        ("https://user:p@ss@host/a@b", "https://user:[redacted]@host/a@b"),
        ("password=hunter2", "password=[redacted]"),
        ("password: hunter2, user: ada", "password: [redacted], user: ada"),
        ("Your password is password: 'correct horse'.", "Your password is password: '[redacted]'."),
        ("{'password': 'hunter2', 'user': 'ada'}", "{'password': '[redacted]', 'user': 'ada'}"),
        ('{"db_password": "hunter2"', '{"db_password": "[redacted]"'),
        ("Config(user='ada', api_key='abc')", "Config(user='ada', api_key='[redacted]')"),
        ("OPENAI_API_KEY=abc123 python run.py", "OPENAI_API_KEY=[redacted] python run.py"),
        ("client-secret = abc123", "client-secret = [redacted]"),
        ("accessToken: abc123", "accessToken: [redacted]"),
        ("https://api/x?access_token=abc&page=2", "https://api/x?access_token=[redacted]&page=2"),
        ("https://api/x?token=abcdef123&page=2", "https://api/x?token=[redacted]&page=2"),
        (
            "https://hooks.slack.com/services/" + "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
            "https://hooks.slack.com/services/[redacted]",
        ),
        ("-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1r", "[redacted]"),
        (f"{SECRETS[0]} and {SECRETS[8]}", "[redacted] and [redacted]"),
    ],
)
def test_of_what_stands_around_a_secret_the_rest_is_kept(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "ORD-42",
        "ITEM-4111111111111111",
        "FL-1234567890123",
        "01890a5d-ac96-774b-bcce-b302099a8057",
        "4111-1111-1111",
        "d670460b4b4aece5915caf5c68d12f560a9fe3e4",
        "sha256:" + HEX,
        "1700000000000",
        "1700000000000000",
        "2024-01-31T12:30:00Z",
        "+49 30 1234567890",
        "4111111111111112",
        "call_abc123def456ghi789jkl012",
        "toolu_01A09q90qw90lq917835lq9",
        "chatcmpl-A1b2C3d4E5f6G7h8I9j0K1l2M3",
        "sk-learn-contrib-some-module-of-long-name",
        "a task-management-system-with-2-parts-of-it",
        "basic understanding of bearer responsibilities",
        "Basic authentication is not enough",
        "the bearer of this letter",
        "a token of appreciation: flowers",
        "max_tokens: 4096, total_tokens=17",
        "next_page_token=abc",
        "The password must be long; the secret of success",
        "https://example.com:8080/path?mail=a@b.c",
        "https://example.com/a:b@c",
        "mail ada@example.com",
        "eyJust a word",
        "AKIA is a prefix",
        "AIzaShort",
        "monkey: banana",
        "passenger: Ada",
        "compass=north",
        "cookies: chocolate",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
        "",
    ],
)
def test_what_only_looks_a_little_like_a_secret_stays(text: str) -> None:
    """An identifier that is hidden can't be checked any more, so that a rule that is too broad costs something."""
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "name",
    [
        *(
            "password",
            "Password",
            "PASSWORD",
            "db_password",
            "userPassword",
            "api_key",
            "apiKey",
            "API-KEY",
            "x-api-key",
        ),
        *("Authorization", "proxy-authorization", "access_token", "accessToken", "refresh token", "client_secret"),
        *(
            "AWS_SECRET_ACCESS_KEY",
            "aws.secret.access.key",
            "privateKey",
            "Set-Cookie",
            "cookie",
            "token",
            "cvv",
            "ssn",
        ),
        *("OPENAI_API_KEY", "slack_token", "session_token", "passphrase", "connectionString", " password "),
    ],
)
def test_the_name_of_a_secret_is_known_however_it_is_written(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("tokens", "max_tokens", "token_count", "page_token", "nextPageToken", "continuation_token", "cancel_token"),
        *("key", "keys", "keyboard", "author", "passenger", "pass", "secretary", "compass", "password_hint", "id", ""),
        *("order_id", "monkey", "public_key", "primary_key", "card_type", "a" * 5000 + "_password"),
    ],
)
def test_other_names_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("length", [12, 13, 14, 15, 16, 17, 19])
def test_a_card_number_has_a_length_that_its_issuer_gives(length: int) -> None:
    """Of all that begin with 4, one digit in ten is right at the end; none is at other lengths."""
    right = [f"{10 ** (length - 2) * 4}{digit}" for digit in range(10)]
    assert sum(map(is_card_number, right)) == (length in (13, 16, 19))


@pytest.mark.parametrize("odd", ["\uff14" + 15 * "\uff11", "411111111111111a", "-4111111111111111", ""])
def test_what_is_no_row_of_digits_is_no_card(odd: str) -> None:
    assert not is_card_number(odd)


HOSTILE = [
    *(
        "eyJ",
        "eyJ.",
        "eyJaaaaaaaa.",
        "sk-",
        "sk-1",
        "password",
        "password=",
        "password: ",
        "secret_",
        "secret\\",
        '"',
        "\\",
    ),
    *(
        "a:",
        "://",
        "a://",
        "a://b:",
        "a://b:c",
        "Bearer ",
        "Basic ",
        "Basic aaaaaa",
        "authorization:",
        "authorization: ",
    ),
    *(
        "cookie:",
        "1",
        "4111 ",
        "4111-",
        "1-",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "PRIVATE KEY",
        "xoxb-",
        "AKIA",
    ),
    *(
        "SG.",
        "SG.aaaaaaaaaaaaaaaa",
        "hooks.slack.com/services/",
        "?token=",
        "api_key",
        "apikey ",
        "x",
        " ",
        "\n",
        "_",
        "-",
    ),
]


@pytest.mark.parametrize("piece", HOSTILE, ids=map(repr, HOSTILE))
def test_long_texts_of_any_shape_come_to_an_end(piece: str) -> None:
    """Where work grew with the square of the length, this would take hours."""
    once = without_secrets(piece * (1_000_000 // len(piece)))
    assert without_secrets(once) == once


@given(st.lists(st.sampled_from([*SECRETS, *HOSTILE, "=", "'", "[redacted]", "word ", ":"]), max_size=8).map("".join))
def test_hiding_again_changes_nothing(text: str) -> None:
    """A text that was written down hidden is compared with one that is hidden now."""
    once = without_secrets(text)
    assert without_secrets(once) == once
