from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from policysched import clock as clocks
from policysched.kube import access_reviews, errors
from policysched.serving import access, http_server
from tests import builders
from tests.kube.asynchronous import asynchronous

PROMETHEUS = access_reviews.AuthenticatedUser("prometheus", "1", ("system:authenticated",))


class FakeReviewer:
    """Knows some tokens, and who may see `/metrics`.

    Attributes:
        tokens, allowed: what it knows.
        asked: every question.
        failure: raised instead of an answer.
        most_at_once: how many questions were under way at the same time.
    """

    def __init__(self) -> None:
        self.tokens = {"good": PROMETHEUS}
        self.allowed = {("prometheus", "get", "/metrics"), ("alice", "get", "/metrics")}
        self.asked: list[tuple[str, ...]] = []
        self.users: list[access_reviews.AuthenticatedUser] = []
        self.failure: Exception | None = None
        self.most_at_once = 0
        self._at_once = 0

    async def find_token_user(self, token: str) -> access_reviews.AuthenticatedUser | None:
        """Answer."""
        await self._answer("token", token)
        return self.tokens.get(token)

    async def is_user_allowed(
        self, user: access_reviews.AuthenticatedUser, verb: str, path: str
    ) -> bool:
        """Answer."""
        await self._answer("may", user.name, verb, path)
        self.users.append(user)
        return (user.name, verb, path) in self.allowed

    async def _answer(self, *question: str) -> None:
        self.asked.append(question)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        await asyncio.sleep(0)
        self._at_once -= 1
        if self.failure is not None:
            raise self.failure


class Door:
    """A guard, whom it asks, and its clock."""

    def __init__(self, **settings: Any) -> None:
        self.reviewer = FakeReviewer()
        self.clock = clocks.ManualClock(builders.EPOCH)
        self.guard = access.DelegatedAccessGuard(self.reviewer, self.clock, **settings)

    async def status(
        self, path: str = "/metrics", token: str = "", method: str = "GET", **further: Any
    ) -> int:
        """Return what is answered."""
        page = await self.page(path, token, method, **further)
        return 200 if page is None else page.status

    async def page(
        self, path: str = "/metrics", token: str = "", method: str = "GET", **further: Any
    ) -> http_server.HttpPage | None:
        """Return the refusal, if there is one."""
        authorization = f"Bearer {token}" if token else ""
        asker = http_server.PageRequest(
            method, path, **({"authorization": authorization} | further)
        )
        return await self.guard.find_denial_page(asker)


@asynchronous
async def test_open_paths_are_not_asked_about() -> None:
    """Health is everybody's, the single checks are not."""
    door = Door()
    for path in access.ALWAYS_ALLOWED:
        assert await door.status(path) == 200
    assert door.reviewer.asked == []
    assert await door.status("/livez/ping") == 403


@asynchronous
async def test_a_pattern_opens_all_paths_below() -> None:
    """As `--authorization-always-allow-paths` of Kubernetes' own programs."""
    door = Door(always_allowed=["/livez*"])
    assert await door.status("/livez/ping") == 200
    assert await door.status("/readyz") == 403


@pytest.mark.parametrize(
    "authorization, status",
    [
        pytest.param("Bearer good", 200, id="granted"),
        pytest.param("bearer   good ", 200, id="as-clients-write-it"),
        pytest.param("Bearer bad", 401, id="nobody's"),
        pytest.param("Bearer \udcff", 401, id="bytes"),
        pytest.param("", 403, id="none"),
        pytest.param("Bearer ", 403, id="empty"),
        pytest.param("Basic Z29vZA==", 403, id="another-scheme"),
    ],
)
@asynchronous
async def test_tokens_say_who_asks(authorization: str, status: int) -> None:
    """Without one it is nobody, who may do what nobody may; a wrong one is refused as such."""
    assert await Door().status(authorization=authorization) == status


@asynchronous
async def test_rights_are_for_a_verb_and_a_path() -> None:
    """What RBAC calls nonResourceURLs."""
    door = Door()
    assert await door.status("/debug/tasks", "good") == 403
    assert await door.status("/metrics", "good", "HEAD") == 403
    assert ("may", "prometheus", "head", "/metrics") in door.reviewer.asked


@asynchronous
async def test_refusals_say_who_was_refused_what() -> None:
    """In the form of the API server's own."""
    page = await Door().page("/metrics")
    assert page is not None
    status = orjson.loads(page.body)
    assert (status["kind"], status["reason"], status["code"]) == ("Status", "Forbidden", 403)
    assert status["message"] == ('forbidden: User "system:anonymous" cannot get path "/metrics"')


CERTIFICATE = {
    "subject": (
        (("organizationName", "operators"),),
        (("organizationName", "monitoring"),),
        (("commonName", "alice"),),
    ),
    "issuer": ((("commonName", "the cluster"),),),
}


@asynchronous
async def test_a_certificate_says_who_asks() -> None:
    """The common name is the user, organizations are groups; no token is looked at."""
    door = Door()
    assert await door.status(token="bad", certificate=CERTIFICATE) == 200
    assert door.reviewer.users == [
        access_reviews.AuthenticatedUser(
            "alice", groups=("operators", "monitoring", "system:authenticated")
        )
    ]


@asynchronous
async def test_administrators_may_see_everything() -> None:
    """RBAC is not asked about the group system:masters, in Kubernetes either."""
    door = Door()
    subject = ((("organizationName", "system:masters"),), (("commonName", "root"),))
    assert await door.status("/debug/tasks", certificate={"subject": subject}) == 200
    assert door.reviewer.asked == []


@asynchronous
async def test_a_certificate_expires_on_an_open_connection() -> None:
    """The handshake looked at it once; whoever keeps the connection is not let in for ever."""
    door = Door()
    certificate = {**CERTIFICATE, "notAfter": "Jan  1 00:00:00 2100 GMT"}
    assert await door.status(certificate=certificate) == 200
    door.clock.advance(75 * 366 * 86_400.0)
    assert await door.status(certificate=certificate) == 401


@asynchronous
async def test_a_certificate_without_a_name_says_nothing() -> None:
    """The token counts then."""
    subject = ((("organizationName", "system:masters"),),)
    assert await Door().status("/debug/tasks", certificate={"subject": subject}) == 403
    assert await Door().status(token="good", certificate={"subject": subject}) == 200


@asynchronous
async def test_answers_hold_for_a_while() -> None:
    """Good ones and bad ones; then what was granted or taken is known."""
    door = Door(token_seconds=10.0, answer_seconds=10.0)
    for _ in range(3):
        assert await door.status(token="good") == 200
        assert await door.status("/debug/tasks", "good") == 403
        assert await door.status(token="bad") == 401
    assert len(door.reviewer.asked) == 4
    door.reviewer.allowed.clear()
    door.reviewer.tokens["bad"] = PROMETHEUS
    door.clock.advance(10.0)
    assert await door.status(token="good") == 403
    assert await door.status(token="bad") == 403


@pytest.mark.parametrize(
    "failure",
    [
        errors.TransportError("cut", may_have_arrived=True),
        errors.ForbiddenError(403, "Forbidden", "no reviews for you"),
        errors.UndecodableAnswerError("no JSON"),
    ],
    ids=["outage", "no-right", "nonsense"],
)
@asynchronous
async def test_nobody_gets_in_where_nobody_can_be_asked(failure: Exception) -> None:
    """It is told, and asked again at the next request."""
    door = Door()
    door.reviewer.failure = failure
    assert await door.status(token="good") == 503
    assert await door.status() == 503
    assert await door.status("/livez") == 200
    door.reviewer.failure = None
    assert await door.status(token="good") == 200


@asynchronous
async def test_an_outage_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever reaches the port could fill the log otherwise."""
    door = Door()
    door.reviewer.failure = errors.UndecodableAnswerError("no JSON")
    for _ in range(3):
        assert await door.status() == 503
    assert len(caplog.records) == 1
    door.clock.advance(60.0)
    assert await door.status() == 503
    assert len(caplog.records) == 2


@asynchronous
async def test_many_who_ask_do_not_flood_the_api_server() -> None:
    """Few questions are under way at once, and equal ones are asked once."""
    door = Door()
    await asyncio.gather(*(door.status(token=f"bad-{number % 50}") for number in range(200)))
    assert door.reviewer.most_at_once <= 4
    assert len(door.reviewer.asked) < 60


@asynchronous
async def test_what_is_kept_has_a_limit() -> None:
    """Who invents tokens fills no memory."""
    door = Door()
    for number in range(2000):
        await door.status(token=f"bad-{number}")
    assert len(door.guard._users._by_key) <= 1024


@asynchronous
async def test_without_authentication_everybody_is_anonymous() -> None:
    """Who is anonymous may do what RBAC grants to nobody in particular."""
    door = Door(is_anonymous=True)
    assert await door.status(token="good", certificate=CERTIFICATE) == 403
    door = Door(is_anonymous=True)
    door.reviewer.allowed.add(("system:anonymous", "get", "/metrics"))
    assert await door.status(token="bad") == 200
