"""Ask Prometheus for the values of guards with a query."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from policysched import process
from policysched.rollout import guard_queries, settings

if TYPE_CHECKING:
    from policysched.promapi import connection
    from policysched.promapi import settings as prometheus_settings


class GuardQueryClient:
    """Sends the queries of guards, all at the same time, and connects on demand."""

    def __init__(self, sources: Mapping[str, prometheus_settings.PrometheusSource]) -> None:
        """Use the configured servers `sources`, by name."""
        self._sources = sources
        self._clients: dict[str, connection.PrometheusClient] = {}

    async def ask_all(
        self,
        guards: Iterable[settings.Guard],
        new: Sequence[guard_queries.PodKey],
        old: Sequence[guard_queries.PodKey],
    ) -> dict[str, float | str]:
        """Return for each guard with a query its value, or the reason why there is none.

        `new` and `old` are the newest bound pods of the two versions.
        """
        asked = [each for each in guards if each.query]
        values = await asyncio.gather(*(self._ask(each, new, old) for each in asked))
        return {each.name: value for each, value in zip(asked, values, strict=True)}

    async def _ask(
        self,
        guard: settings.Guard,
        new: Sequence[guard_queries.PodKey],
        old: Sequence[guard_queries.PodKey],
    ) -> float | str:
        from policysched.promapi import failures  # noqa: PLC0415 - few processes have such guards

        query = guard_queries.fill_query(guard.query, new, old)
        if query is None:
            return "a version of the query has no bound pods"
        try:
            client = self._connect(guard.source)
            answer = await process.run_in_thread(lambda: client.ask(query))
        except failures.QueryError as error:
            return str(error)
        if len(answer.series) != 1:
            return f"the query has {len(answer.series)} values instead of one"
        value = answer.series[0].value
        return "the value is no number" if value is None else value

    def _connect(self, name: str) -> connection.PrometheusClient:
        from policysched.promapi import connection  # noqa: PLC0415 - as above

        if name not in self._clients:
            self._clients[name] = connection.PrometheusClient(name, self._sources[name])
        return self._clients[name]
