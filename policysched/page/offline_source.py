"""The source of the page for a cluster file or a listing of a running cluster: it never changes."""

from __future__ import annotations

from collections.abc import Mapping

from policysched.observability.live_page import decision_rows
from policysched.page import page_source, policy_files


class OfflineSource:
    """Shows one cluster; see `page_source.PageSource`."""

    def __init__(
        self,
        kind: str,
        title: str,
        answers: page_source.ViewAnswers,
        inputs: page_source.ClusterInputs,
        files: policy_files.PolicyFiles,
    ) -> None:
        """Show the cluster of `answers` under `title`, and the policies of `files`."""
        self.kind = kind
        self.has_cluster = True
        self.title = title
        self.decisions: decision_rows.DecisionRows | None = None
        self.steps: Mapping[str, str] = {}
        self.policy_files: policy_files.PolicyFiles | None = files
        self._view = page_source.ClusterView(1, answers, inputs, files.texts)

    def get_view(self) -> page_source.ClusterView:
        """Return the cluster."""
        return self._view

    def take_step(self, name: str) -> None:
        """Refuse, because a listing cannot change."""
        raise LookupError(name)
