"""The fields of the configuration of `run`; schemas/config.schema.json is their schema.

`config_reading` reads a configuration, `config_faults` finds its errors. The defaults are those of
kube-scheduler for the fields that it has; docs/configuration.md lists them all.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from policysched.config import election_config
from policysched.promapi import settings


class PluginConfig(msgspec.Struct, frozen=True, rename="camel"):
    """A plugin that is enabled, weighted or given arguments."""

    name: str
    weight: int | None = None
    args: dict[str, Any] | None = None


class ProfileConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The plugins of one profile, in addition to those that the policies configure."""

    scheduler_name: str
    plugins: tuple[PluginConfig, ...] = ()
    disabled: tuple[str, ...] = ()
    disabled_scores: tuple[str, ...] = ()


class ClientConnection(msgspec.Struct, frozen=True, rename="camel"):
    """Limits for requests to the API server.

    Attributes:
        qps: requests a second; None for no limit in the client.
        burst: requests that may be sent at once; None for twice `qps`.
    """

    qps: float | None = None
    burst: int | None = None


class PoliciesConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The source of the policies, and the treatment of their versions.

    Attributes:
        paths: files, folders and manifests, see `policy_sources.read_policy_texts`.
        config_map: `NAMESPACE/NAME` of the ConfigMap that holds the policies; "" for none.
        on_bad_start: whether to `refuse` to start with a bad version, or use the `lastGood` one.
        lint_errors: whether to `refuse` a version with lint errors, as if it did not compile, or to
            `warn`.
        history: `NAMESPACE/NAME` of the ConfigMap that keeps former good versions; "" for
            `CONFIGMAP-history` beside `config_map`, and for no history if the policies are files.
        keep: the number of former versions in the history.
        check_every_seconds: the interval between checks of files for changes.
    """

    paths: tuple[str, ...] = ()
    config_map: str = ""
    on_bad_start: Literal["refuse", "lastGood"] = "refuse"
    lint_errors: Literal["refuse", "warn"] = "refuse"
    history: str = ""
    keep: int = 10
    check_every_seconds: float = 1.0

    @property
    def history_config_map(self) -> str:
        """The ConfigMap of former versions, as `NAMESPACE/NAME`; "" if no versions are kept."""
        return self.history or (f"{self.config_map}-history" if self.config_map else "")


class AuthenticationConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Authentication of requests by the API server (TokenReview), and the cache time."""

    enabled: bool = True
    cache_seconds: float = 10.0


class AuthorizationConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Authorization of requests by the API server (SubjectAccessReview), and the cache time.

    `always_allow_paths` need no authorization.
    """

    enabled: bool = True
    always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    cache_seconds: float = 10.0


class ServingConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The addresses on which the process serves metrics, health and debug pages.

    Attributes:
        secure_address: `HOST:PORT` for TLS; "" to disable it.
        cert_file: PEM certificates; without them, a self-signed one is made at the start.
        key_file: the key of `cert_file`.
        metrics_address: `HOST:PORT` for metrics without TLS; "" to disable it.
    """

    secure_address: str = ""
    cert_file: str = ""
    key_file: str = ""
    metrics_address: str = ""
    authentication: AuthenticationConfig = AuthenticationConfig()
    authorization: AuthorizationConfig = AuthorizationConfig()


class DecisionsConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The number of recent decisions to keep."""

    kept: int = 1000


class LoggingConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The format of logs, and the lowest level that is written."""

    format: Literal["text", "json"] = "text"
    level: Literal["debug", "info", "warning", "error"] = "info"


class TracingConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The collector of spans; "" disables tracing. Names are those of kube-apiserver's tracing."""

    endpoint: str = ""
    sampling_rate_per_million: int = 0


class FeatureGates(msgspec.Struct, frozen=True, rename="pascal"):
    """Feature gates, named as those of kube-scheduler; all are on by default.

    None of them changes which nodes are feasible for a pod.

    Attributes:
        scheduler_pop_from_backoff_q: a pod in backoff is tried early if no other pod waits.
        scheduler_queueing_hints: plugins inspect events that may help pods that they rejected;
            otherwise each such event leads to another attempt.
        opportunistic_batching: answers of plugins are cached for equal pods; otherwise all plugins
            are called for all nodes for each pod.
    """

    scheduler_pop_from_backoff_q: bool = True
    scheduler_queueing_hints: bool = True
    opportunistic_batching: bool = True


class Config(msgspec.Struct, frozen=True, rename="camel"):
    """A configuration; the defaults are those of kube-scheduler for the fields that it has."""

    policies: PoliciesConfig = PoliciesConfig()
    params: dict[str, str | int | float] = {}
    profiles: tuple[ProfileConfig, ...] = ()
    pod_initial_backoff_seconds: float = 1.0
    pod_max_backoff_seconds: float = 10.0
    pod_max_in_unschedulable_pods_seconds: float = 300.0
    parallel_binds: int = 32
    prometheus: dict[str, settings.PrometheusSource] = {}
    leader_election: election_config.LeaderElectionConfig = election_config.LeaderElectionConfig()
    client_connection: ClientConnection = ClientConnection()
    serving: ServingConfig = ServingConfig()
    decisions: DecisionsConfig = DecisionsConfig()
    logging: LoggingConfig = LoggingConfig()
    tracing: TracingConfig = TracingConfig()
    features: FeatureGates = FeatureGates()
