"""The health endpoints /livez, /readyz and /healthz, in kube-apiserver's format.

`/livez` fails if only a restart helps, `/readyz` if the process cannot work at the moment;
`/healthz` is the old name of `/livez`. `?verbose` lists the checks, and `?exclude=NAME` omits a
check; each check has its own page, `/livez/NAME`. Only that page and the log contain the reason for
a failure, because the other pages are open to all clients
(`apiserver/pkg/server/healthz/healthz.go`).
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping

from policysched.serving import http_server

_log = logging.getLogger(__name__)

LIVEZ = "livez"
READYZ = "readyz"
HEALTHZ = "healthz"

Check = Callable[[], str]
"""Returns the problem, or "" if the check passes."""


class HealthChecks:
    """The checks of one process."""

    def __init__(self, live: Mapping[str, Check], ready: Mapping[str, Check]) -> None:
        """Serve checks keyed by name: `live` for /livez and /healthz, `ready` for /readyz."""
        ping: dict[str, Check] = {"ping": lambda: ""}
        self._checks = {
            LIVEZ: ping | dict(live),
            READYZ: ping | dict(ready),
            HEALTHZ: ping | dict(live),
        }
        self._told: dict[str, tuple[str, ...]] = {}

    def make_pages(self) -> dict[str, http_server.MakePage]:
        """Return the pages of all checks, keyed by path."""
        return dict(self._iterate_pages())

    def _iterate_pages(self) -> Iterator[tuple[str, http_server.MakePage]]:
        for kind, checks in self._checks.items():
            yield f"/{kind}", functools.partial(self._run_all_checks, kind)
            for name, check in checks.items():
                yield f"/{kind}/{name}", functools.partial(_run_single_check, check)

    def _run_all_checks(
        self, kind: str, query: http_server.QueryParameters
    ) -> http_server.HttpPage:
        """Run the checks of one kind; return their page without the reasons for failures."""
        excluded = query.get_all("exclude")
        lines, failed = [], []
        for name, check in self._checks[kind].items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif problem := check():
                lines.append(f"[-]{name} failed: reason withheld")
                failed.append(f"{name}: {problem}")
            else:
                lines.append(f"[+]{name} ok")
        if not excluded:
            self._log_change(kind, tuple(failed))
        if failed:
            return _make_text_page([*lines, f"{kind} check failed"], status=500)
        if "verbose" in query:
            return _make_text_page([*lines, f"{kind} check passed"])
        return http_server.HttpPage(b"ok")

    def _log_change(self, kind: str, failed: tuple[str, ...]) -> None:
        """Log the failed checks only when they change, instead of on every probe."""
        before = self._told.get(kind, ())
        if failed == before:
            return
        self._told[kind] = failed
        if failed:
            _log.warning("/%s fails: %s", kind, "; ".join(failed))
        else:
            _log.info("/%s no longer fails", kind)


def _run_single_check(check: Check, _query: http_server.QueryParameters) -> http_server.HttpPage:
    problem = check()
    if problem:
        return _make_text_page([f"internal server error: {problem}"], status=500)
    return http_server.HttpPage(b"ok")


def _make_text_page(lines: list[str], status: int = 200) -> http_server.HttpPage:
    return http_server.HttpPage(("\n".join(lines) + "\n").encode(), status=status)
