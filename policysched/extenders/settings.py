"""Define the settings of one HTTP extender, with the names of KubeSchedulerConfiguration."""

from __future__ import annotations

import msgspec


class ManagedResource(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """An extended resource for which an extender is asked.

    Attributes:
        name: the resource.
        ignored_by_scheduler: whether NodeResourcesFit ignores the resource, because no node has it.
    """

    name: str
    ignored_by_scheduler: bool = False


class ExtenderTls(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The certificates of a connection to an extender; data takes precedence over files.

    Attributes:
        insecure: whether the certificate of the server is not verified.
        server_name: name in the certificate of the server; "" for the host of the URL.
        cert_file, key_file: PEM files of the client's certificate and its key.
        ca_file: PEM file with the authorities that the server's certificate may be signed by.
        cert_data, key_data, ca_data: the content of such files, in base64.
    """

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class ExtenderSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One extender.

    Attributes:
        url_prefix: URL to which `/VERB` is appended; also the name of the extender in messages.
        filter_verb, prioritize_verb, preempt_verb, bind_verb: last part of the URL of each call;
            with "", the extender does not take part in this step.
        weight: factor of its points.
        enable_https: whether to connect without verification if no certificate authority is given.
        tls_config: certificates; None for the authorities of the system.
        http_timeout_seconds: limit of a call; 0 for DEFAULT_TIMEOUT_SECONDS.
        node_cache_capable: whether it is sent names of nodes instead of nodes.
        managed_resources: the extender is asked only about pods that request one of them; empty for
            all pods.
        ignorable: whether scheduling goes on if a call fails.
    """

    url_prefix: str
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 0
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    tls_config: ExtenderTls | None = None
    http_timeout_seconds: float = 0.0
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False

    @property
    def chooses_nodes(self) -> bool:
        """Whether it takes part in the choice of a node, and not only in binding."""
        return bool(self.filter_verb or self.prioritize_verb or self.preempt_verb)


DEFAULT_TIMEOUT_SECONDS = 5.0
"""Limit of a call (pkg/scheduler/extender.go, DefaultExtenderTimeout)."""
