"""The oracle as a running process: kube-scheduler's own plugins, asked in JSON lines.

`oracle/` is its source; `tests/realcluster/components.py` builds it once.
"""

from __future__ import annotations

import json
from typing import Any

from tests import line_process

VERDICT, PLACE, PREEMPT, BIND = "verdict", "place", "preempt", "bind"
RESCORE, NORMALIZE, EXTEND = "rescore", "normalize", "extend"
"""What can be asked about a cluster."""


class Oracle(line_process.LineProcess):
    """A running oracle, which is a context manager; not for several threads.

    Example:
        with Oracle() as oracle:
            oracle.ask(cluster, VERDICT, PLACE)["verdict"]
    """

    def __init__(self) -> None:
        super().__init__("oracle")

    def ask(
        self, cluster: dict[str, Any], *questions: str, config: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the answers by question; the answer to `normalize` is under `cluster`.

        Args:
            cluster: a v1 List.
            questions: what to answer, of `VERDICT`, `PLACE`, `PREEMPT`, `BIND`, `RESCORE`,
                `NORMALIZE` and `EXTEND`.
            config: `pluginConfig`, `weights` and `disabled` where they differ from the default
                profile, and `extenders`.

        Raises:
            OracleError: it cannot answer.
        """
        request = {"name": "", "cluster": cluster, "ask": questions, "config": config}
        answer: dict[str, Any] = json.loads(self.exchange(request))
        if "error" in answer:
            raise line_process.OracleError(answer["error"])
        return answer
