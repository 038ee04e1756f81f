"""The HTTP servers of `run`: the secure port with access control, and the plain port."""

from __future__ import annotations

import asyncio
import logging

from policysched import clock as clocks
from policysched.app import context, health_checks
from policysched.config import addresses, config
from policysched.kube import access_reviews, errors
from policysched.kube.http import client
from policysched.serving import (
    access,
    certificates,
    debug_pages,
    health,
    http_server,
    static_files,
)

_log = logging.getLogger(__name__)

_PAGE_ROOT = "/ui/"
_REVIEW_CONNECTIONS = 4
_AUTHORITY_SECONDS = 60.0
"""Interval at which the authorities of client certificates are read again."""


def add_http_servers(components: context.ProcessComponents) -> None:
    """Serve the pages of all components on the configured addresses; must be added last.

    Raises:
        ConfigurationError: an address is unavailable, or the certificate cannot be used.
    """
    serving = components.config.serving
    health_pages = health_checks.make_scheduler_health_checks(components).make_pages()
    if serving.metrics_address:
        components.background.append(_make_public_page_server(components, health_pages).run())
    if serving.secure_address:
        components.background.append(
            _SecurePort(components, _collect_pages(components) | health_pages).run()
        )


def _collect_pages(components: context.ProcessComponents) -> dict[str, http_server.MakePage]:
    """Return the pages of all components; omit debug pages if authorization is off."""
    if components.config.serving.authorization.enabled:
        found = components.pages | debug_pages.make_debug_pages(components.config, components.pages)
        is_shown = components.config.serving.page
        return found | static_files.load_static_pages(_PAGE_ROOT) if is_shown else found
    return {
        path: make
        for path, make in components.pages.items()
        if not path.startswith(debug_pages.ROOT)
    }


def _make_public_page_server(
    components: context.ProcessComponents, health_pages: dict[str, http_server.MakePage]
) -> http_server.HttpServer:
    """Return the server of the pages that are open to every client on the network."""
    roots = {f"/{kind}" for kind in (health.LIVEZ, health.READYZ, health.HEALTHZ)}
    pages = {path: make for path, make in health_pages.items() if path in roots}
    pages |= {path: make for path, make in components.pages.items() if path.startswith("/metrics")}
    return http_server.HttpServer(
        addresses.parse_listen_address(components.config.serving.metrics_address), pages
    )


def _list_open_paths(serving: config.ServingConfig) -> list[str]:
    """Return the paths that need no rights; the files of the page hold no data."""
    files = [_PAGE_ROOT.removesuffix("/"), f"{_PAGE_ROOT}*"] if serving.page else []
    return [*serving.authorization.always_allow_paths, *files]


class _SecurePort:
    def __init__(
        self, components: context.ProcessComponents, pages: dict[str, http_server.MakePage]
    ) -> None:
        serving = components.config.serving
        address = addresses.parse_listen_address(serving.secure_address)
        # Reviews must not wait for the lease or for other requests to the API server.
        self._api = client.ApiClient(
            components.connection, rng=components.rng, max_connections=_REVIEW_CONNECTIONS
        )
        self._reviewer = access_reviews.ApiAccessReviewer(self._api)
        self._takes_certificates = serving.authentication.enabled and serving.authorization.enabled
        self._certificates = certificates.CertificateReloader(
            _choose_certificate(serving, address, components.clock), components.clock
        )
        guard = None
        if serving.authorization.enabled:
            guard = access.DelegatedAccessGuard(
                self._reviewer,
                components.clock,
                is_anonymous=not serving.authentication.enabled,
                always_allowed=_list_open_paths(serving),
                token_seconds=serving.authentication.cache_seconds,
                answer_seconds=serving.authorization.cache_seconds,
            )
        else:
            _log.warning(
                "authorization is off: every client that can reach the secure port may read "
                "its pages"
            )
        self._server = http_server.HttpServer(address, pages, guard=guard, tls=self._certificates)

    async def run(self) -> None:
        async with self._api, asyncio.TaskGroup() as group:
            group.create_task(self._server.run())
            if self._takes_certificates:
                group.create_task(self._reload_client_authority())

    async def _reload_client_authority(self) -> None:
        """Periodically update the trusted client authorities to the cluster's authorities."""
        told = ""
        while True:
            try:
                self._certificates.trust_client_authority(
                    await self._reviewer.read_client_ca_certificates()
                )
                told = ""
            except errors.KubeError as error:
                kind = type(error).__name__
                if kind != told:
                    told = kind
                    _log.warning(
                        ("client certificates are still checked with the previous authorities: %s"),
                        error,
                    )
            await asyncio.sleep(_AUTHORITY_SECONDS)


def _choose_certificate(
    serving: config.ServingConfig, address: addresses.ListenAddress, clock: clocks.Clock
) -> certificates.CertificateFiles | certificates.SelfSignedCertificate:
    if serving.cert_file:
        return certificates.CertificateFiles(serving.cert_file, serving.key_file)
    return certificates.SelfSignedCertificate(certificates.list_own_host_names(address.host), clock)
