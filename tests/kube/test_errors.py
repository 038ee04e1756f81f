"""The API server's answers as exceptions."""

from __future__ import annotations

import inspect
import json
import re

import pytest

from policysched import errors as base_errors
from policysched.kube import access_reviews, errors
from policysched.kube.election import lease
from policysched.kube.writing import pod_status
from tests.kube import fake_server


@pytest.mark.parametrize(
    "code, kind",
    [
        pytest.param(400, errors.ApiError, id="bad request"),
        pytest.param(401, errors.UnauthorizedError, id="unauthorized"),
        pytest.param(403, errors.ForbiddenError, id="forbidden"),
        pytest.param(404, errors.NotFoundError, id="not found"),
        pytest.param(409, errors.ConflictError, id="conflict"),
        pytest.param(410, errors.ResourceVersionGoneError, id="gone"),
        pytest.param(422, errors.ApiError, id="invalid"),
        pytest.param(429, errors.TooManyRequestsError, id="too many requests"),
        pytest.param(500, errors.ServerError, id="internal error"),
        pytest.param(504, errors.ServerError, id="timeout"),
    ],
)
def test_each_status_has_its_class(code: int, kind: type[errors.ApiError]) -> None:
    """Callers tell failures apart by class and keep status, reason and message."""
    error = errors.from_response(code, b'{"reason":"Word","message":"a sentence"}', None)
    assert type(error) is kind
    assert (error.status_code, error.reason, error.message) == (code, "Word", "a sentence")
    assert str(error) == f"the API server answered {code} Word: a sentence"


@pytest.mark.parametrize(
    "body, message",
    [
        pytest.param(b"", "no explanation", id="nothing"),
        pytest.param(b"<html>bad gateway</html>", "<html>bad gateway</html>", id="a proxy's page"),
        pytest.param(b"\xff\xfe", "��", id="no text"),
        pytest.param(b"x" * 10_000, "x" * 500, id="too long"),
        pytest.param(b'{"message": 3}', '{"message": 3}', id="another shape"),
    ],
)
def test_answers_that_are_no_status(body: bytes, message: str) -> None:
    """A failure that does not come from the API server itself is quoted, shortened."""
    error = errors.from_response(502, body, None)
    assert type(error) is errors.ServerError
    assert error.message == message


@pytest.mark.parametrize(
    "header, body, seconds",
    [
        pytest.param("7", b"{}", 7.0, id="header"),
        pytest.param(None, b'{"details":{"retryAfterSeconds":3}}', 3.0, id="body"),
        pytest.param("7", b'{"details":{"retryAfterSeconds":3}}', 7.0, id="header first"),
        pytest.param("Wed, 21 Oct 2026 07:28:00 GMT", b"{}", None, id="a date is not read"),
        pytest.param(None, b"{}", None, id="neither"),
    ],
)
def test_the_pause_that_the_server_asks_for(
    header: str | None, body: bytes, seconds: float | None
) -> None:
    """Retry-After comes in the header or in the body."""
    assert errors.from_response(429, body, header).retry_after_seconds == seconds


def test_a_version_from_the_future_is_gone() -> None:
    """After a restore of etcd our resource version may be too new: only a new list helps."""
    status = fake_server.status_object(
        504, "Timeout", "Too large resource version: 9, current: 3", cause="ResourceVersionTooLarge"
    )
    body = json.dumps(status).encode()
    assert type(errors.from_response(504, body, None)) is errors.ResourceVersionGoneError


def test_the_tree_in_the_docstring_is_complete() -> None:
    """Every exception of the module stands in its drawing, and under the project's root."""
    kinds = {
        name: kind
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if kind.__module__ == errors.__name__ and issubclass(kind, Exception)
    }
    assert set(re.findall(r"── (\w+)", errors.__doc__ or "")) == set(kinds)
    assert all(issubclass(kind, base_errors.PolicySchedError) for kind in kinds.values())


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"1e400", id="infinite"),
        pytest.param(b"9" * 5000, id="5000-digits"),
        pytest.param(b'"\xff"', id="not-utf-8"),
        pytest.param(b"[" * 100_000, id="endless-depth"),
    ],
)
def test_an_answer_that_cannot_be_decoded(value: bytes) -> None:
    """Every reader of single answers has one error for it; an error's body is quoted."""
    body = b'{"metadata": {"resourceVersion": %b}, "spec": %b, "status": %b}' % ((value,) * 3)
    readers = (
        lease._decode_lease,
        pod_status._read_resource_version,
        lambda text: access_reviews._decode_review(text, access_reviews._TokenReview),
    )
    for read in readers:
        with pytest.raises(errors.UndecodableAnswerError):
            read(body)
    assert errors.from_response(500, b'{"message": %b}' % value, None).status_code == 500
