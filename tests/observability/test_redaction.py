"""Secrets in texts for people."""

from __future__ import annotations

import base64
import itertools
import pathlib

import pytest

from policysched.observability import redaction
from tests.security import confined

SEED = "s33d-OF-secrets.4711"
ENCODED = base64.b64encode(f"me:{SEED}".encode()).decode()


@pytest.mark.parametrize(
    "text, clean",
    [
        (f"Authorization: Bearer {SEED}", "Authorization: Bearer (hidden)"),
        (f"{{'authorization': 'Basic {ENCODED}'}}", "{'authorization': 'Basic (hidden)'}"),
        (f"GET http://me:{SEED}@prom:9090/api", "GET http://(hidden)@prom:9090/api"),
        (f"GET /api?access_token={SEED}&query=up", "GET /api?access_token=(hidden)&query=up"),
        (f'{{"password": "{SEED}", "user": "me"}}', '{"password": "(hidden)", "user": "me"}'),
        (f"users: [{{token: {SEED}}}]", "users: [{token: (hidden)"),
        ("token eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrIn0.c2ln is old", "token (hidden) is old"),
        (
            f"-----BEGIN RSA PRIVATE KEY-----\n{SEED}\n-----END RSA PRIVATE KEY-----\nrest",
            "(hidden)\nrest",
        ),
        (f"cut: -----BEGIN PRIVATE KEY-----\n{SEED}", "cut: (hidden)"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, clean: str) -> None:
    """By the words before it, or by its form; what stands around it stays."""
    assert redaction.mask_secret_patterns(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "0/3 nodes are available: 3 node(s) had untolerated taint {basic: true}.",
        "serving /metrics on http://127.0.0.1:9153",
        "/run/secrets/token: cannot be read: No such file",
        "/run/secrets/token: is not JSON",
        "the token file /var/run/secrets/kubernetes.io/serviceaccount/token cannot be read",
        "policy p: `score cpu prefer low` at web.policy:3",
        "pod default/password-store-0 on node me@home",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    """Words about secrets are none."""
    assert redaction.mask_secret_patterns(text) == text


def test_known_secrets_are_taken_out_wherever_they_stand() -> None:
    """As they are at the time; an Authorization header is known without its scheme."""
    versions = itertools.cycle([[f"Bearer {SEED}", "short"], ["Bearer renewed-token"]])
    redactor = redaction.Redactor()
    redactor.add_secret_source(lambda: next(versions))
    assert redactor.remove_secrets(f"x{SEED}x short") == "x(hidden)x short"
    assert redactor.remove_secrets("xrenewed-tokenx") == "x(hidden)x"


_PIECES = (
    "token:",
    "token=",
    "token: ",
    "password'",
    "bearer ",
    "eyJaaaaaaaa.",
    "a://",
    "-----BEGIN ",
)


@pytest.mark.parametrize("piece", _PIECES)
def test_long_texts_take_time_in_proportion(piece: str, tmp_path: pathlib.Path) -> None:
    """Each piece, a hundred thousand times, within the CPU time that a quadratic one would need."""
    program = (
        "from policysched.observability import redaction; "
        "redaction.mask_secret_patterns({piece!r} * 100_000)"
    )
    done = confined.python("-c", program.format(piece=piece), folder=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
