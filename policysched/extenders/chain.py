"""All extenders, in the order in which they are asked: those that are ignorable come last."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from policysched import clock as clocks
from policysched import errors
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.extenders import asking, calls, extender
from policysched.framework import extender_answers, runtime, status

_log = logging.getLogger(__name__)


class ExtenderChain:
    """Asks the extenders that are interested in a pod (`scheduler.ports.Extenders`)."""

    def __init__(
        self,
        extenders: Iterable[extender.Extender],
        require_leadership: Callable[[], object],
        clock: clocks.Clock,
    ) -> None:
        """Call `require_leadership` before a binding; it raises RemoteError to prevent that."""
        self._all = sorted(extenders, key=lambda server: server.settings.ignorable)
        self._require_leadership = require_leadership
        self._clock = clock

    def is_asked_about(self, pod: pod_shape.PodInfo) -> bool:
        """Return whether an extender takes part in the choice of a node for the pod."""
        return any(
            server.is_interested(pod) for server in self._all if server.settings.chooses_nodes
        )

    async def ask(
        self,
        framework: runtime.Framework,
        pod: pod_shape.PodInfo,
        take_snapshot: Callable[[], snapshot.Snapshot],
    ) -> extender_answers.ExtenderAnswers:
        """Return the answers about a pod, for its scheduling cycle with `framework`."""
        interested = [server for server in self._all if server.is_interested(pod)]
        questions = asking.PodQuestions(interested, framework, pod, take_snapshot, self._clock)
        return await questions.ask()

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> status.Status | None:
        """Let the extender that binds bind a pod; None if none is interested, or ready.

        After an error, the pod may be bound (`schedule_one.go`, extendersBinding).
        """
        for server in self._all:
            if not server.settings.bind_verb or not server.is_interested(pod):
                continue
            try:
                self._require_leadership()
                await server.bind(pod, node_name)
            except calls.ExtenderError as error:
                if not server.settings.ignorable:
                    return status.Status(status.Code.ERROR, (str(error),))
                _log.warning("skipping the ignorable extender %s: %s", server.name, error)
            except errors.RemoteError as error:
                return status.Status(status.Code.ERROR, (str(error),))
            else:
                return status.SUCCESS
        return None
