"""What `karmada run` is started with."""

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
    """How to find the estimators of member clusters, and how to ask them.

    Attributes:
        timeout_seconds: for all answers about a binding together; with 0 nobody is asked.
        service_namespace: where their Services are.
        service_prefix: what stands before the name of the cluster in the name of its Service.
        port: of the Services.
        with_pull_clusters: whether clusters in pull mode have estimators.
        ca_file: certificates of those who vouch for estimators; "" for no encryption.
        cert_file, key_file: what we show.
        is_verified: whether estimators have to be vouched for.
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
    """Options of the command line; defaults are those of karmada-scheduler v1.18.2.

    Attributes:
        kubeconfig: a path, None for the usual places.
        context: a context of it, None for the current one.
        master: address of the API server, None for that of the kubeconfig.
        scheduler_name: whose bindings are scheduled.
        election: whether and how a leader is elected.
        qps, burst: limit of requests, of writes and of events each; None for no limit.
        retry: how long failures wait.
        writes_at_once: how many bindings may be between decision and last write.
        metrics_address, health_address: where to serve these, None for nowhere.
        configuration: says where policies and their metrics come from, and nothing else.
        metrics_file: values of metrics, instead of a server.
        estimators: how to ask those of member clusters; None for not at all.
        by_priority: whether bindings of higher priority come first.
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
        """Whether policies are to be followed."""
        said = self.configuration.policies
        return bool(said.paths or said.config_map)
