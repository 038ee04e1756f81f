"""What `run` is started with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from policysched.app import election as elections
from policysched.app import http_server


@dataclasses.dataclass(frozen=True, slots=True)
class RunOptions:
    """What `run` is started with.

    Attributes:
        kubeconfig: a path, None for the usual places.
        context: a context of it, None for the current one.
        config: a configuration file.
        policies: see `policy_sources.read`.
        params: values of params, over those of the configuration.
        scheduler_name: name of the profile where the policies declare none.
        metrics_file: see `metrics_source.FileSource`; it stands for all of Prometheus.
        prometheus: `[NAME=]URL`, over the servers of the configuration.
        metrics_address: where metrics of our own are served; None for nowhere.
        leader_election: over what the configuration says of it.
    """

    kubeconfig: str | None = None
    context: str | None = None
    config: str | None = None
    policies: tuple[str, ...] = ()
    params: Mapping[str, str] = dataclasses.field(default_factory=dict)
    scheduler_name: str | None = None
    metrics_file: str | None = None
    prometheus: tuple[str, ...] = ()
    metrics_address: http_server.Address | None = None
    leader_election: elections.Overrides = dataclasses.field(default_factory=dict)
