"""Serve `policysched webhook`: reviews over TLS, one at a time, and health pages."""

from __future__ import annotations

import asyncio
import dataclasses
import logging

from policysched import clock as clocks
from policysched import process
from policysched.config import addresses, config
from policysched.observability import logs
from policysched.reload import admission
from policysched.serving import certificates, connections, health, http_server

_log = logging.getLogger("policysched")

PATH = "/validate"
MAX_BODY_BYTES = 8 * 1024 * 1024
"""Body limit: an update contains two ConfigMaps of up to 1 MiB, which JSON escapes enlarge."""
_LIMITS = connections.ConnectionLimits(
    at_once=1000, new_per_second=500.0, requests_per_second=5000.0
)
"""High limits: all requests come from a few API servers, and this process has no other work."""
LAST_ANSWERS_SECONDS = 5.0
"""How long shutdown waits for reviews in progress; a kubelet allows 30 s in total."""
_MAX_WAITING = 8
"""Limit of waiting reviews; an API server waits at most 30 s for an answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class WebhookOptions:
    """The options of `webhook`.

    Attributes:
        address: the address to listen on.
        cert_file, key_file: the serving certificate; read again when they change.
        configuration: configuration of the scheduler that uses the policies.
        scheduler_name: name of the scheduler, or None for the configuration's default.
        chosen: the ConfigMaps to review.
    """

    address: addresses.ListenAddress
    cert_file: str
    key_file: str
    configuration: config.Config
    scheduler_name: str | None
    chosen: admission.ConfigMapFilter


class PolicyWebhookServer:
    """Answers admission reviews from the API server.

    Attributes:
        bound: the address on which the server listens.
    """

    def __init__(self, options: WebhookOptions, clock: clocks.Clock) -> None:
        """Open the port.

        Raises:
            ConfigurationError: the address is unavailable, or the certificate cannot be used.
        """
        self._admission = admission.PolicyReviewer(
            options.configuration, options.scheduler_name, options.chosen
        )
        self._stopping = asyncio.Event()
        self._turn = asyncio.Semaphore(1)  # a check keeps a whole core busy
        self._checks: set[asyncio.Task[admission.AdmissionResponse]] = set()
        checks = {"shutdown": lambda: "it is shutting down" if self._stopping.is_set() else ""}
        pair = certificates.CertificateFiles(options.cert_file, options.key_file)
        self._server = http_server.HttpServer(
            options.address,
            health.HealthChecks({}, checks).make_pages(),
            tls=certificates.CertificateReloader(pair, clock),
            posts=http_server.PostRoutes(
                {PATH: self._answer_admission_review}, max_bytes=MAX_BODY_BYTES
            ),
            limits=_LIMITS,
        )
        self.bound = self._server.bound

    async def run(self) -> None:
        """Serve until the process is asked to stop; then answer the reviews in progress.

        At shutdown, reviews that take longer than `LAST_ANSWERS_SECONDS` are abandoned.
        """
        self._stopping = process.stop_on_signals()
        serving = asyncio.create_task(self._server.run())
        stopped = asyncio.create_task(self._stopping.wait())
        await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
        _log.info("stopping")
        if self._checks and not serving.done():
            await asyncio.wait(self._checks, timeout=LAST_ANSWERS_SECONDS)
        for each in (serving, stopped):
            each.cancel()
        results = await asyncio.gather(serving, stopped, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result
        _log.info("stopped")

    async def _answer_admission_review(self, body: bytes) -> http_server.HttpPage:
        """Answer one AdmissionReview; limit the number of waiting reviews."""
        try:
            question = self._admission.parse_admission_request(body)
        except admission.ReviewError as error:
            return http_server.HttpPage(f"{error}\n".encode(), status=400)
        if question.texts is None:
            return _encode_admission_response(question, admission.AdmissionResponse())
        if len(self._checks) >= _MAX_WAITING:
            return http_server.HttpPage(b"too many reviews at once\n", status=503)
        self._checks.add(checking := asyncio.create_task(self._check_admission_request(question)))
        checking.add_done_callback(self._checks.discard)
        # If the client disconnects, the thread continues and must keep its turn until it ends.
        verdict = await asyncio.shield(checking)
        outcome = "refused" if verdict.message else "admitted"
        _log.info("%s %s", outcome, logs.format_log_fields(configMap=question.name))
        return _encode_admission_response(question, verdict)

    async def _check_admission_request(
        self, question: admission.AdmissionRequest
    ) -> admission.AdmissionResponse:
        async with self._turn:
            return await process.run_in_thread(lambda: self._admission.review_policies(question))


def _encode_admission_response(
    question: admission.AdmissionRequest, verdict: admission.AdmissionResponse
) -> http_server.HttpPage:
    return http_server.HttpPage(
        admission.encode_admission_response(question, verdict), http_server.JSON
    )
