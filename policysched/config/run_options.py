"""The options of `run` that are not part of its configuration."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class RunOptions:
    """Command-line options that have no field in the configuration file.

    Attributes:
        kubeconfig: path of a kubeconfig; None for the default locations.
        context: a context of the kubeconfig; None for the current one.
        scheduler_name: name of the profile if the policies do not declare one.
        metrics_file: file that replaces all Prometheus sources; see
            `metrics_source.MetricsFileSource`.
        dry_run: compare the decisions with those of another scheduler, and write nothing.
    """

    kubeconfig: str | None = None
    context: str | None = None
    scheduler_name: str | None = None
    metrics_file: str | None = None
    dry_run: bool = False
