"""What `run` is started with besides its configuration."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of the command line that no configuration has.

    Attributes:
        kubeconfig: a path, None for the usual places.
        context: a context of it, None for the current one.
        scheduler_name: name of the profile where the policies declare none.
        metrics_file: see `metrics_source.MetricsFileSource`; it stands for all of Prometheus.
        dry_run: decide for nobody, write nothing, and compare with the scheduler that does.
    """

    kubeconfig: str | None = None
    context: str | None = None
    scheduler_name: str | None = None
    metrics_file: str | None = None
    dry_run: bool = False
