"""The options of `run` that are not part of its configuration."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class RunOptions:
    """Command-line options that no configuration file has.

    Attributes:
        kubeconfig: a path; None for the default locations.
        context: a context of the kubeconfig; None for the current one.
        scheduler_name: name of the profile if the policies declare none.
        metrics_file: see `metrics_source.MetricsFileSource`; it replaces all Prometheus sources.
        dry_run: decide pods of another scheduler, compare with its decisions, and write nothing.
    """

    kubeconfig: str | None = None
    context: str | None = None
    scheduler_name: str | None = None
    metrics_file: str | None = None
    dry_run: bool = False
