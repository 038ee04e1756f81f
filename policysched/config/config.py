"""Define the fields of the configuration of `run`; their schema is schemas/config.schema.json.

`config_reading` reads a configuration and `config_faults` finds its errors. Fields that
kube-scheduler also has use its defaults; docs/configuration.md lists all defaults.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from policysched.config import election_config
from policysched.extenders import settings as extender_settings
from policysched.promapi import settings
from policysched.rollout import settings as rollout_settings


class PluginConfig(msgspec.Struct, frozen=True, rename="camel"):
    """A plugin to enable, with an optional weight and arguments; None leaves them unchanged."""

    name: str
    weight: int | None = None
    args: dict[str, Any] | None = None


class ProfileConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The plugins of one profile, in addition to the plugins of its policies."""

    scheduler_name: str
    plugins: tuple[PluginConfig, ...] = ()
    disabled: tuple[str, ...] = ()
    disabled_scores: tuple[str, ...] = ()


class ClientConnection(msgspec.Struct, frozen=True, rename="camel"):
    """Limits for requests to the API server.

    Attributes:
        qps: requests per second; None for no limit in the client.
        burst: requests that can be sent at once; None for twice `qps`.
    """

    qps: float | None = None
    burst: int | None = None


class PoliciesConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The source of the policies and the handling of their versions.

    Attributes:
        paths: files, folders and manifests, as `policy_sources.read_policy_texts` accepts them.
        config_map: `NAMESPACE/NAME` of the ConfigMap that holds the policies; "" for none.
        on_bad_start: `refuse` to start with a bad version, or start with the last good version
            (`lastGood`).
        lint_errors: `refuse` rejects a version with lint errors, as if it did not compile; `warn`
            only reports them.
        history: `NAMESPACE/NAME` of the ConfigMap that keeps previous good versions. With "", it is
            `CONFIGMAP-history` in the namespace of `config_map`, or there is no history if the
            policies are files.
        keep: number of previous versions in the history.
        check_every_seconds: interval between checks of the policy files for changes.
        rollout: how a new version is put in force; without stages, at once.
    """

    paths: tuple[str, ...] = ()
    config_map: str = ""
    on_bad_start: Literal["refuse", "lastGood"] = "refuse"
    lint_errors: Literal["refuse", "warn"] = "refuse"
    history: str = ""
    keep: int = 10
    check_every_seconds: float = 1.0
    rollout: rollout_settings.RolloutSettings = rollout_settings.RolloutSettings()

    @property
    def history_config_map(self) -> str:
        """ConfigMap of previous versions, as `NAMESPACE/NAME`; "" if there are none."""
        return self.history or (f"{self.config_map}-history" if self.config_map else "")


class AuthenticationConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Whether the API server authenticates requests (TokenReview).

    Results are cached for `cache_seconds`.
    """

    enabled: bool = True
    cache_seconds: float = 10.0


class AuthorizationConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Whether the API server authorizes requests (SubjectAccessReview).

    Results are cached for `cache_seconds`. Requests for `always_allow_paths` need no authorization.
    """

    enabled: bool = True
    always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    cache_seconds: float = 10.0


class ServingConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Addresses on which the process serves metrics, health checks and debug pages.

    Attributes:
        secure_address: `HOST:PORT` for TLS; "" to disable it.
        cert_file: PEM file of certificates; "" creates a self-signed certificate at startup.
        key_file: PEM file of the private key of `cert_file`.
        metrics_address: `HOST:PORT` for metrics without TLS; "" to disable it.
        page: whether the secure port has the page for browsers, below /ui/.
    """

    secure_address: str = ""
    cert_file: str = ""
    key_file: str = ""
    metrics_address: str = ""
    page: bool = False
    authentication: AuthenticationConfig = AuthenticationConfig()
    authorization: AuthorizationConfig = AuthorizationConfig()


class DecisionsConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The number of recent decisions to keep."""

    kept: int = 1000


class AuditConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The interval between two audits of the running pods; 0 for no audit."""

    every_seconds: float = 0.0


class LoggingConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The log format and the lowest level that is logged."""

    format: Literal["text", "json"] = "text"
    level: Literal["debug", "info", "warning", "error"] = "info"


class TracingConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The collector of spans; without an `endpoint`, tracing is off.

    The fields have the names that kube-apiserver uses.
    """

    endpoint: str = ""
    sampling_rate_per_million: int = 0


class FeatureGates(msgspec.Struct, frozen=True, rename="pascal"):
    """Feature gates with the names that kube-scheduler uses; all are enabled by default.

    No gate changes which nodes are feasible for a pod.

    Attributes:
        scheduler_pop_from_backoff_q: a pod in backoff is retried early if no other pod is ready.
        scheduler_queueing_hints: plugins decide which events can help a pod that they rejected; if
            disabled, every event that they registered for retries the pod.
        opportunistic_batching: plugin results are cached for pods with equal scheduling fields; if
            disabled, every plugin runs for every node and pod.
    """

    scheduler_pop_from_backoff_q: bool = True
    scheduler_queueing_hints: bool = True
    opportunistic_batching: bool = True


class Config(msgspec.Struct, frozen=True, rename="camel"):
    """The configuration of `run`; fields that kube-scheduler also has use its defaults."""

    policies: PoliciesConfig = PoliciesConfig()
    params: dict[str, str | int | float] = {}
    profiles: tuple[ProfileConfig, ...] = ()
    extenders: tuple[extender_settings.ExtenderSettings, ...] = ()
    pod_initial_backoff_seconds: float = 1.0
    pod_max_backoff_seconds: float = 10.0
    pod_max_in_unschedulable_pods_seconds: float = 300.0
    parallel_binds: int = 32
    prometheus: dict[str, settings.PrometheusSource] = {}
    leader_election: election_config.LeaderElectionConfig = election_config.LeaderElectionConfig()
    client_connection: ClientConnection = ClientConnection()
    serving: ServingConfig = ServingConfig()
    decisions: DecisionsConfig = DecisionsConfig()
    audit: AuditConfig = AuditConfig()
    logging: LoggingConfig = LoggingConfig()
    tracing: TracingConfig = TracingConfig()
    features: FeatureGates = FeatureGates()
