"""Define the settings of one HTTP extender, with the names of KubeSchedulerConfiguration."""

from __future__ import annotations

import msgspec

from policysched import durations, server_urls

DEFAULT_TIMEOUT_SECONDS = 5.0
"""Limit of a call (pkg/scheduler/extender.go, DefaultExtenderTimeout)."""


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
        server_name: name in the certificate of the server, also sent to it (SNI); "" for the host
            of the URL.
        cert_file, key_file: PEM files of the client's certificate and its key.
        ca_file: PEM file with the authorities that the server's certificate may be signed by.
        cert_data, key_data, ca_data: the content of such files, in base64; `key_data` is never
            shown.
    """

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""

    def __repr__(self) -> str:
        """Show no content of files, because the key is secret."""
        return f"ExtenderTls({self.server_name!r})"

    @property
    def has_authorities(self) -> bool:
        """Whether certificate authorities are given."""
        return bool(self.ca_data or self.ca_file)

    @property
    def has_certificate(self) -> bool:
        """Whether a certificate of the client is given."""
        return bool(self.cert_data or self.cert_file)

    @property
    def has_key(self) -> bool:
        """Whether a key of the client's certificate is given."""
        return bool(self.key_data or self.key_file)


class ExtenderSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One extender.

    Attributes:
        url_prefix: URL to which `/VERB` is appended; it can contain a user and a password.
        filter_verb, prioritize_verb, preempt_verb, bind_verb: last part of the URL of each call;
            with "", the extender does not take part in this step.
        weight: factor of its points.
        enable_https: whether to connect without verification if no certificate authority is given;
            the scheme of the URL decides whether connections use TLS.
        tls_config: certificates; None for the authorities of the system.
        http_timeout: limit of a call, from connecting to the last byte, as `15s`.
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
    http_timeout: str = "5s"
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False

    def __repr__(self) -> str:
        """Show only the name, because other settings can be secret."""
        return f"ExtenderSettings({self.name!r})"

    @property
    def name(self) -> str:
        """The URL without a user and a password: the name of the extender in messages."""
        return server_urls.hide_credentials(self.url_prefix)

    @property
    def http_timeout_seconds(self) -> float:
        """Limit of a call; `0s` means the default, as in kube-scheduler."""
        return durations.parse_duration_seconds(self.http_timeout) or DEFAULT_TIMEOUT_SECONDS

    @property
    def verbs(self) -> tuple[str, ...]:
        """The steps in which the extender takes part: filter, prioritize, preempt, bind."""
        verbs = {
            "filter": self.filter_verb,
            "prioritize": self.prioritize_verb,
            "preempt": self.preempt_verb,
            "bind": self.bind_verb,
        }
        return tuple(step for step, verb in verbs.items() if verb)

    @property
    def chooses_nodes(self) -> bool:
        """Whether it takes part in the choice of a node, and not only in binding."""
        return bool(self.filter_verb or self.prioritize_verb or self.preempt_verb)

    @property
    def verifies_server(self) -> bool:
        """Whether connections with TLS verify the certificate of the server.

        Source: pkg/scheduler/extender.go, makeTransport.
        """
        tls = self.tls_config or ExtenderTls()
        return not tls.insecure and (tls.has_authorities or not self.enable_https)


def list_ignored_resources(extenders: tuple[ExtenderSettings, ...]) -> tuple[str, ...]:
    """Return the resources that NodeResourcesFit must ignore, because no node has them.

    If there are any, they replace `ignoredResources` of every profile (pkg/scheduler/scheduler.go,
    buildExtenders).
    """
    managed = (resource for extender in extenders for resource in extender.managed_resources)
    return tuple(resource.name for resource in managed if resource.ignored_by_scheduler)
