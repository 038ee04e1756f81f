"""Serve ended scheduling attempts as rows: /debug/decisions?form=rows&after=N&wait=SECONDS.

A client names the last number that it has, so no state is kept for clients, and a client that does
not read costs nothing. A row is made when the first client asks, and once for all clients; without
clients, the only cost is the log's own.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable

import msgspec

from policysched.framework.answers import rejections
from policysched.framework.scoring import score_table
from policysched.observability import decision_page
from policysched.observability.live_page import debug_forms
from policysched.scheduler import decisions
from policysched.serving import http_server, query_parameters

FORM = "rows"
"""Value of the parameter `form`."""
MOST_ROWS = 200
MOST_WAIT_SECONDS = 20
_LOOK_SECONDS = 0.25
"""Interval at which a waiting request looks for new rows."""
_MAX_MESSAGE_CHARACTERS = 300
_PARAMETERS = ("form", "after", "wait")


class DecisionRows:
    """Rows about the ended attempts of a decision log."""

    def __init__(self, log: decisions.DecisionLog, started_at: str) -> None:
        """Make rows about `log`; `started_at` identifies the run of the process."""
        self._log = log
        self._started_at = started_at
        self._encoded: deque[msgspec.Raw] = deque(maxlen=MOST_ROWS)
        self._encoded_to = 0

    @property
    def count(self) -> int:
        """The number of ended attempts, which is the number of the newest row."""
        return self._log.ended_count

    def encode_rows(self, after: int) -> bytes:
        """Return the newest rows after a number as JSON; see `debug_forms.RowsDocument`.

        A number beyond the newest is of an earlier run of the process, and counts as 0.
        """
        self._encode_new_rows()
        newest = self.count
        after = 0 if after > newest else after
        shown = min(newest - after, len(self._encoded))
        rows = itertools.islice(self._encoded, len(self._encoded) - shown, None)
        return msgspec.json.encode(
            {
                "startedAt": self._started_at,
                "next": newest,
                "missed": newest - after - shown,
                "rows": list(rows),
            }
        )

    def make_records(self, pod: str) -> list[dict[str, object]]:
        """Return the kept records about a pod (`namespace/name`), the newest first."""
        return [
            decision_page.make_decision_document(each)
            for each in reversed(self._log.ended)
            if each.pod == pod
        ]

    def _encode_new_rows(self) -> None:
        newest, ended = self.count, self._log.ended
        new = min(newest - self._encoded_to, len(ended), MOST_ROWS)
        for offset in range(new, 0, -1):
            row = make_row(newest - offset + 1, ended[-offset])
            self._encoded.append(msgspec.Raw(msgspec.json.encode(row)))
        self._encoded_to = newest


class RowsPage:
    """Answers requests with `form=rows`, and lets them wait for new rows."""

    def __init__(self, rows: DecisionRows, is_stopping: Callable[[], bool]) -> None:
        """Answer with `rows`; no request waits once `is_stopping` returns true."""
        self._rows = rows
        self._is_stopping = is_stopping

    async def make_page(self, query: http_server.QueryParameters) -> http_server.HttpPage:
        """Return rows as soon as there is one after `after`, and after `wait` seconds at most.

        Raises:
            ParameterError: a parameter is unknown or invalid.
        """
        query_parameters.check_names(query, _PARAMETERS)
        if query.get_one("form") != FORM:
            raise query_parameters.ParameterError(
                f"the parameter `form` must be `{FORM}` or absent"
            )
        after = query_parameters.parse_count(query, "after")
        wait_seconds = query_parameters.parse_count(query, "wait", most=MOST_WAIT_SECONDS)
        end_seconds = asyncio.get_running_loop().time() + wait_seconds
        while after == self._rows.count and not self._is_stopping():
            left_seconds = end_seconds - asyncio.get_running_loop().time()
            if left_seconds <= 0:
                break
            await asyncio.sleep(min(_LOOK_SECONDS, left_seconds))
        body = self._rows.encode_rows(after)
        return http_server.HttpPage(body, http_server.JSON, is_compressed=True)


def make_row(number: int, decision: decisions.SchedulingDecision) -> debug_forms.DecisionRow:
    """Return an ended attempt as a row."""
    ended = decision.ended_seconds or decision.started_seconds
    by, amount = find_main_cause(decision)
    return debug_forms.DecisionRow(
        number,
        decision.pod,
        decision.uid,
        decision.scheduler_name,
        decision.result.value,
        decision.node_name or "",
        decision.feasible_count,
        decision.node_count,
        decision.policy_hash,
        decision.decided_at.isoformat(timespec="milliseconds"),
        round(ended - decision.started_seconds, 6),
        rejections.cut(decision.message, _MAX_MESSAGE_CHARACTERS),
        by,
        amount,
        decision.rollout_stage,
    )


def find_main_cause(decision: decisions.SchedulingDecision) -> tuple[str, float]:
    """Return the rule with the largest lead of the chosen node, or the filter that rejects most."""
    standing = decision.standing
    if standing is not None and len(standing.nodes) > 1:
        weighted = standing.weighted
        leads = weighted[:, 0] - weighted[:, 1]
        first = int(leads.argmax()) if len(leads) else 0
        if len(leads) and leads.sum() > 0:  # else, nodes have equal points
            return standing.score_names[first], score_table.points(leads[first])
        return "", 0.0
    if decision.node_name is not None or not decision.rejections:
        return "", 0.0
    most = max(decision.rejections, key=lambda each: each.node_count)
    return most.answer.source_name, most.node_count
