from __future__ import annotations

import pytest

from policysched.serving import health, http_server


class Switch:
    """A check that says what the test says."""

    def __init__(self) -> None:
        self.problem = ""

    def __call__(self) -> str:
        """Say it."""
        return self.problem


class Pages:
    """The pages of a process with one check of each kind."""

    def __init__(self) -> None:
        self.live, self.ready = Switch(), Switch()
        self._pages = health.HealthChecks(
            {"election": self.live}, {"synced": self.ready}
        ).make_pages()

    @property
    def paths(self) -> set[str]:
        """All of them."""
        return set(self._pages)

    def get(self, path: str, **query: tuple[str, ...]) -> tuple[int, str]:
        """Return status and body."""
        page = self._pages[path](http_server.QueryParameters(query))
        assert isinstance(page, http_server.HttpPage)
        return page.status, page.body.decode()


def test_every_check_has_a_page_of_its_own() -> None:
    """Beside the three that sum up."""
    assert Pages().paths == {
        *("/livez", "/livez/ping", "/livez/election"),
        *("/readyz", "/readyz/ping", "/readyz/synced"),
        *("/healthz", "/healthz/ping", "/healthz/election"),
    }


def test_what_is_well_says_ok() -> None:
    """In so many letters: scripts compare."""
    pages = Pages()
    for path in pages.paths:
        assert pages.get(path) == (200, "ok")


def test_verbose_lists_the_checks() -> None:
    """As kube-apiserver does."""
    pages = Pages()
    assert pages.get("/livez", verbose=("",)) == (
        200,
        "[+]ping ok\n[+]election ok\nlivez check passed\n",
    )


def test_a_failure_is_named_and_its_reason_kept(caplog: pytest.LogCaptureFixture) -> None:
    """The page is everybody's; the reason is on the check's own page and, once, in the log."""
    pages = Pages()
    pages.ready.problem = "nothing is listed"
    for _ in range(3):
        status, text = pages.get("/readyz")
        assert (status, text) == (
            500,
            "[+]ping ok\n[-]synced failed: reason withheld\nreadyz check failed\n",
        )
    assert pages.get("/readyz/synced") == (500, "internal server error: nothing is listed\n")
    assert pages.get("/livez") == (200, "ok")
    assert caplog.text.count("nothing is listed") == 1


def test_a_check_can_be_left_out() -> None:
    """For who looks for what else is wrong."""
    pages = Pages()
    pages.live.problem = "hangs"
    status, text = pages.get("/healthz", exclude=("election",), verbose=("",))
    assert (status, text) == (
        200,
        "[+]ping ok\n[+]election excluded: ok\nhealthz check passed\n",
    )
