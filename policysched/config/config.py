"""The configuration of `run`, field by field; schemas/config.schema.json says the same of files.

`config_reading` reads it, `config_faults` says what is wrong with one. The defaults are those of
kube-scheduler where it has the field; docs/configuration.md lists them all.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from policysched.config import election_config
from policysched.promapi import settings


class PluginConfig(msgspec.Struct, frozen=True, rename="camel"):
    """A plugin that is switched on, weighted or given arguments."""

    name: str
    weight: int | None = None
    args: dict[str, Any] | None = None


class ProfileConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The plugins of one profile, on top of what the policies say about it."""

    scheduler_name: str
    plugins: tuple[PluginConfig, ...] = ()
    disabled: tuple[str, ...] = ()
    disabled_scores: tuple[str, ...] = ()


class ClientConnection(msgspec.Struct, frozen=True, rename="camel"):
    """How the API server is spoken to.

    Attributes:
        qps: requests a second, None for no limit of our own.
        burst: how many may come at once, None for twice as many as in a second.
    """

    qps: float | None = None
    burst: int | None = None


class PoliciesConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Where policies come from and what becomes of versions of them.

    Attributes:
        paths: files, folders and manifests, see `policy_sources.read_policy_texts`.
        config_map: `NAMESPACE/NAME` of the ConfigMap that holds them; "" for none.
        on_bad_start: `refuse` to start with a bad version, or go by the `lastGood` one.
        lint_errors: what an error of lint makes of a version: `refuse` it like an error of the
            language, or `warn`.
        history: `NAMESPACE/NAME` of the ConfigMap that keeps former good versions; "" for
            `CONFIGMAP-history` beside `config_map`, and for none where policies are files.
        keep: how many of them.
        check_every_seconds: how often files are looked at.
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
        """The ConfigMap of former versions, as `NAMESPACE/NAME`; "" where none is kept."""
        return self.history or (f"{self.config_map}-history" if self.config_map else "")


class AuthenticationConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Whether the API server says who asks (TokenReview), and how long its answer holds."""

    enabled: bool = True
    cache_seconds: float = 10.0


class AuthorizationConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Whether the API server says who may ask (SubjectAccessReview), and for how long.

    `always_allow_paths` are open to everybody.
    """

    enabled: bool = True
    always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    cache_seconds: float = 10.0


class ServingConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Where the process answers for itself.

    Attributes:
        secure_address: `HOST:PORT` served by TLS; "" for nowhere.
        cert_file: PEM certificates; without them one is signed by itself at the start.
        key_file: the key of `cert_file`.
        metrics_address: `HOST:PORT` of metrics in the clear; "" for nowhere.
    """

    secure_address: str = ""
    cert_file: str = ""
    key_file: str = ""
    metrics_address: str = ""
    authentication: AuthenticationConfig = AuthenticationConfig()
    authorization: AuthorizationConfig = AuthorizationConfig()


class DecisionsConfig(msgspec.Struct, frozen=True, rename="camel"):
    """How many decisions are remembered."""

    kept: int = 1000


class LoggingConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The form of logs, and from which level on they are written."""

    format: Literal["text", "json"] = "text"
    level: Literal["debug", "info", "warning", "error"] = "info"


class TracingConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Where spans go; `endpoint` is "" for nowhere. Names are those of kube-apiserver's tracing."""

    endpoint: str = ""
    sampling_rate_per_million: int = 0


class FeatureGates(msgspec.Struct, frozen=True, rename="pascal"):
    """Switches under the names of kube-scheduler's feature gates; all are on by default.

    None of them changes which nodes a pod may go to.

    Attributes:
        scheduler_pop_from_backoff_q: a pod that backs off is tried early when no other waits.
        scheduler_queueing_hints: plugins look closer at events that may help pods they rejected;
            otherwise each such event leads to another attempt.
        opportunistic_batching: answers of plugins are kept for equal pods; otherwise all plugins
            are asked about all nodes for each pod.
    """

    scheduler_pop_from_backoff_q: bool = True
    scheduler_queueing_hints: bool = True
    opportunistic_batching: bool = True


class Config(msgspec.Struct, frozen=True, rename="camel"):
    """A configuration; the defaults are those of kube-scheduler where it has them."""

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
