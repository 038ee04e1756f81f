"""Serve /debug/explain: the present verdict of every node about a pod that waits.

An explanation takes milliseconds of the scheduling loop, so all clients together get one every two
seconds.
"""

from __future__ import annotations

from policysched import clock as clocks
from policysched.cluster.pods import pod_shape
from policysched.scheduler import scheduler as schedulers
from policysched.serving import http_server, json_answers, query_parameters

PAUSE_SECONDS = 2
_GONE, _TOO_MANY = 410, 429
_BUSY = http_server.HttpPage(
    b"another pod has just been explained; ask again in two seconds\n",
    status=_TOO_MANY,
    headers={"Retry-After": str(PAUSE_SECONDS)},
)


class ExplainPage:
    """Explains the pods that wait in the queue of a scheduler."""

    def __init__(self, scheduler: schedulers.Scheduler, clock: clocks.Clock) -> None:
        """Explain pods of `scheduler`; `clock` measures the pause."""
        self._scheduler = scheduler
        self._clock = clock
        self._pod = ""
        self._made = _BUSY
        self._made_at_seconds = float("-inf")

    def make_page(self, query: http_server.QueryParameters) -> http_server.HttpPage:
        """Return the explanation of `pod`; the last one again if it is of the same pod.

        Raises:
            ParameterError: a parameter is unknown.
        """
        query_parameters.check_names(query, ("pod",))
        pod, now_seconds = query.get_one("pod"), self._clock.monotonic_seconds()
        is_pause = now_seconds - self._made_at_seconds < PAUSE_SECONDS
        if is_pause and pod == self._pod:
            return self._made
        info = self._find_waiting_pod(pod)
        if info is None:  # status 404 would say that the process is older than this page
            return http_server.HttpPage(
                f"{self._describe_unknown_pod(pod)}\n".encode(), status=_GONE
            )
        if is_pause:
            return _BUSY
        self._pod, self._made_at_seconds = pod, now_seconds
        self._made = self._explain(info)
        return self._made

    def _find_waiting_pod(self, key: str) -> pod_shape.PodInfo | None:
        queues = self._scheduler.queue.iterate_queues()
        return next((queued.info for _, queued in queues if queued.info.key == key), None)

    def _describe_unknown_pod(self, key: str) -> str:
        unserved = self._scheduler.events.pods.unserved
        found = next((pod for pod in unserved if pod.key == key), None)
        if found is None:
            return (
                "this scheduler knows no waiting pod of this name; it may have a node, have ended, "
                "or not exist"
            )
        return (
            f"no profile of this scheduler serves schedulerName `{found.spec.scheduler_name}`, so "
            "it does not schedule the pod"
        )

    def _explain(self, info: pod_shape.PodInfo) -> http_server.HttpPage:
        from policysched.observability.live_page import pod_verdicts  # noqa: PLC0415 - imports the compiler

        framework = self._scheduler.find_framework(info)
        if framework is None:
            return http_server.HttpPage(b"no profile serves this pod\n", status=_GONE)
        snap = self._scheduler.cache.snapshot()
        found = framework.explain_pod(info, snap)
        described = pod_verdicts.describe_explanation(framework, found, snap)
        return json_answers.make_json_answer({"placedOn": None, **described})
