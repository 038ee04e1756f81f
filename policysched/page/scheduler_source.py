"""The source of the page for a running scheduler, with or without a listing of its cluster."""

from __future__ import annotations

from collections.abc import Mapping

from policysched import errors
from policysched.observability.live_page import decision_rows
from policysched.page import page_source, policy_files

_ADVICE = "start `policysched ui` with --decisions URL --live, and --policies PATH"


class SchedulerSource:
    """Stands for a running scheduler; see `page_source.PageSource`.

    `LiveAnswers` answers about the scheduler itself. Questions that need the engine, such as
    why a node rejects a pod, need a listing of the cluster.
    """

    kind = "scheduler"
    decisions: decision_rows.DecisionRows | None = None
    policy_files: policy_files.PolicyFiles | None = None

    def __init__(self, origin: str, listing: page_source.PageSource | None) -> None:
        """Use `listing`, if there is one, for questions that need the engine."""
        self.title = f"the scheduler at {origin}"
        self._listing = listing
        self.has_cluster = listing is not None
        self.steps: Mapping[str, str] = {}

    def get_view(self) -> page_source.ClusterView:
        """Return the listing.

        Raises:
            InputError: there is none.
        """
        if self._listing is None:
            raise errors.InputError("the engine needs a listing of the cluster", _ADVICE)
        return self._listing.get_view()

    def take_step(self, name: str) -> None:
        """Refuse, because the page cannot change a cluster."""
        raise LookupError(name)
