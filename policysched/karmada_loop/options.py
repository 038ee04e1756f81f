"""The options of `karmada run`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from policysched.config import config, election_config
from policysched.karmada.scheduler import work_queue

if TYPE_CHECKING:
    from policysched.config import addresses

LEASE_NAME = "karmada-scheduler"
LEASE_NAMESPACE = "karmada-system"
DEFAULT_SCHEDULER = "default-scheduler"


@dataclasses.dataclass(frozen=True, slots=True)
class EstimatorOptions:
    """How to find and call the estimators of member clusters.

    Attributes:
        timeout_seconds: limit for all answers about a binding; 0 means that no estimator is asked.
        service_namespace: namespace of the estimators' Services.
        service_prefix: prefix of a Service's name, before the name of the cluster.
        port: port of the Services.
        with_pull_clusters: whether clusters in pull mode have estimators.
        ca_file: PEM file of the authorities that sign estimators' certificates; without it,
            connections are encrypted only if `is_verified` is False.
        cert_file, key_file: PEM files of the client certificate and its key.
        is_verified: whether to verify the certificates of estimators.
    """

    timeout_seconds: float = 3.0
    service_namespace: str = "karmada-system"
    service_prefix: str = "karmada-scheduler-estimator"
    port: int = 10352
    with_pull_clusters: bool = True
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    is_verified: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class KarmadaSchedulerOptions:
    """The command-line options; the defaults match karmada-scheduler v1.18.2.

    Attributes:
        kubeconfig: a path, or None for the default locations.
        context: a context of the kubeconfig, or None for the current one.
        master: address of the API server, or None for the kubeconfig's address.
        scheduler_name: bindings with this scheduler name are scheduled.
        election: the configuration of leader election.
        qps, burst: limits on requests, applied separately to writes and events; None for no limit.
        retry: delays of retries after failures.
        writes_at_once: maximum number of bindings between their decision and their last write.
        metrics_address, health_address: listen addresses, or None for no server.
        configuration: sources of policies and of their metrics; other fields are not used.
        metrics_file: a file with metric values, used instead of a server.
        estimators: how to call estimators of member clusters; None to call none.
        by_priority: whether bindings with a higher priority are scheduled first.
    """

    kubeconfig: str | None = None
    context: str | None = None
    master: str | None = None
    scheduler_name: str = DEFAULT_SCHEDULER
    election: election_config.LeaderElectionConfig = dataclasses.field(
        default_factory=lambda: election_config.LeaderElectionConfig(
            leader_elect=True, resource_name=LEASE_NAME, resource_namespace=LEASE_NAMESPACE
        )
    )
    qps: float | None = 40.0
    burst: int = 60
    retry: work_queue.RetryLimits = dataclasses.field(default_factory=work_queue.RetryLimits)
    writes_at_once: int = 64
    metrics_address: addresses.ListenAddress | None = None
    health_address: addresses.ListenAddress | None = None
    configuration: config.Config = dataclasses.field(default_factory=config.Config)
    metrics_file: str | None = None
    estimators: EstimatorOptions | None = None
    by_priority: bool = False

    @property
    def has_policies(self) -> bool:
        """Whether policies are configured."""
        said = self.configuration.policies
        return bool(said.paths or said.config_map)
