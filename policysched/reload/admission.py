"""Review ConfigMaps of policies for a validating admission webhook.

A version that a scheduler would refuse is denied when it is applied, with the diagnostics of
`check` and the errors of `lint`. A version that a scheduler would accept is admitted with its
warnings. A review does not access the cluster, so dry-run requests are reviewed like any others.
Source: `k8s.io/api/admission/v1` (AdmissionReview).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec

from policysched import errors
from policysched.cluster.objects import wire
from policysched.config import config, config_reading
from policysched.inputs import policy_sources
from policysched.lang import source
from policysched.lang.diagnostics import diagnostics, rendering
from policysched.profiles import policies
from policysched.reload import status_annotations as statuses
from policysched.reload import versions

API_VERSION = "admission.k8s.io/v1"
_OPERATIONS = ("CREATE", "UPDATE")
_MAX_SHOWN = 10
_MAX_MESSAGE_CHARACTERS = 8192
"""Length limit of a denial message, which kubectl prints unchanged."""
_MAX_WARNINGS = 15
_MAX_WARNING_CHARACTERS = 256
"""The API server truncates longer warnings (Kubernetes documentation, admission webhooks)."""


class ReviewError(errors.InputError):
    """The request body is not an AdmissionReview."""


class _ObjectMetadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None


class _ConfigMap(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _ObjectMetadata = _ObjectMetadata()
    data: Mapping[str, str] | None = None
    binary_data: Mapping[str, str] | None = None


class _RequestKind(msgspec.Struct, frozen=True):
    group: str = ""
    kind: str = ""


class _ReviewRequest(msgspec.Struct, frozen=True, rename="camel"):
    uid: str
    operation: str = ""
    kind: _RequestKind = _RequestKind()
    name: str = ""
    namespace: str = ""
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class _AdmissionReview(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    request: _ReviewRequest


_review_decoder = msgspec.json.Decoder(_AdmissionReview)


@dataclasses.dataclass(frozen=True, slots=True)
class ConfigMapFilter:
    """Selects ConfigMaps by name and labels; without either, all ConfigMaps with `.policy` keys.

    Attributes:
        names: names in the form `NAMESPACE/NAME`; empty for any name.
        labels: labels that the ConfigMap must have; empty for any labels.
    """

    names: frozenset[str] = frozenset()
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def is_explicit(self) -> bool:
        """Whether the operator selected the ConfigMaps; if so, each must contain policies."""
        return bool(self.names or self.labels)

    def matches_config_map(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether the filter selects a ConfigMap."""
        is_named = not self.names or name in self.names
        return is_named and all(labels.get(key) == value for key, value in self.labels.items())


@dataclasses.dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """A request to write a ConfigMap.

    Attributes:
        uid: the uid of the review, which the response repeats.
        name: `NAMESPACE/NAME` of the ConfigMap, for logs.
        texts: the policies in the ConfigMap; None if there is nothing to review.
        problem: an error found before the policies are checked, or "".
        demanded, in_use, rollout_text: see `versions.OfferedVersion`.
    """

    uid: str
    name: str = ""
    texts: tuple[source.SourceText, ...] | None = None
    problem: str = ""
    demanded: str = ""
    in_use: str = ""
    rollout_text: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The verdict of a review; `message` is "" if the request is admitted."""

    message: str = ""
    warnings: tuple[str, ...] = ()


class PolicyReviewer:
    """Reviews ConfigMaps as a scheduler with the same configuration would."""

    def __init__(
        self, configuration: config.Config, scheduler_name: str | None, chosen: ConfigMapFilter
    ) -> None:
        """Review policies with the params, profiles and plugins of `configuration`."""
        self._checker = versions.VersionChecker(configuration, scheduler_name)
        self._chosen = chosen

    def parse_admission_request(self, body: bytes) -> AdmissionRequest:
        """Parse the request in the JSON body of an AdmissionReview.

        Raises:
            ReviewError: the body is not an AdmissionReview.
        """
        try:
            review = _review_decoder.decode(body)
            if (review.api_version, review.kind) != (API_VERSION, "AdmissionReview"):
                raise ReviewError("body", f"is not an AdmissionReview of {API_VERSION}")
            return self._convert_review_request(review.request)
        except wire.UNREADABLE as error:
            raise ReviewError("body", f"is not an AdmissionReview: {error}") from error

    def _convert_review_request(self, request: _ReviewRequest) -> AdmissionRequest:
        """Return the policies to review; none for requests that change no policies."""
        nothing = AdmissionRequest(request.uid)
        if (request.kind.group, request.kind.kind) != ("", "ConfigMap"):
            return nothing
        if request.operation not in _OPERATIONS:
            return nothing
        new = msgspec.json.decode(request.object, type=_ConfigMap)
        name = f"{request.namespace}/{request.name or new.metadata.name}"
        if not self._chosen.matches_config_map(name, new.metadata.labels or {}):
            return nothing
        texts = _extract_policy_texts(new)
        binary = policy_sources.list_policy_keys(new.binary_data or {})
        if binary:
            return AdmissionRequest(
                request.uid, name, (), f"the key `{binary[0]}` is not UTF-8 text"
            )
        if not texts and not self._chosen.is_explicit:
            return nothing
        rollout_text = (new.data or {}).get(config_reading.ROLLOUT_KEY)
        if self._are_policies_unchanged(request, texts, rollout_text):
            return nothing
        problem = "" if texts else f"no key ends in `{policy_sources.SUFFIX}`"
        annotations = new.metadata.annotations or {}
        demanded = annotations.get(statuses.ROLLBACK, "")
        in_use = annotations.get(statuses.HASH, "")
        return AdmissionRequest(request.uid, name, texts, problem, demanded, in_use, rollout_text)

    def _are_policies_unchanged(
        self,
        request: _ReviewRequest,
        texts: Sequence[source.SourceText],
        rollout_text: str | None,
    ) -> bool:
        """Return whether the policies are unchanged; status annotations also cause updates."""
        old = msgspec.json.decode(request.old_object, type=_ConfigMap | None)
        if old is None or _extract_policy_texts(old) != texts:
            return False
        return (old.data or {}).get(config_reading.ROLLOUT_KEY) == rollout_text

    def review_policies(self, question: AdmissionRequest) -> AdmissionResponse:
        """Review the policies as a scheduler would; can take a second, and run in any thread."""
        if question.problem:
            return AdmissionResponse(f"{question.name}: {question.problem}")
        if question.texts is None:
            return AdmissionResponse()
        offer = versions.OfferedVersion(
            question.texts,
            demanded=question.demanded,
            in_use=question.in_use,
            rollout_text=question.rollout_text,
        )
        found = self._checker.check_version(offer)
        if isinstance(found, versions.VersionRefusal):
            return _make_denial_response(found)
        try:
            policies.verify_profile_creation(found.policy_set)
        except errors.InputError as error:
            return _make_denial_response(versions.make_version_refusal(found.hash, error))
        return AdmissionResponse(warnings=_format_warnings(found.policy_set.findings))


def encode_admission_response(question: AdmissionRequest, verdict: AdmissionResponse) -> bytes:
    """Encode the AdmissionReview that answers a request."""
    response: dict[str, object] = {"uid": question.uid, "allowed": not verdict.message}
    if verdict.message:
        response["status"] = {
            "code": 400,
            "reason": "BadRequest",  # kubectl rewrites the message of `Invalid`
            "message": verdict.message,
        }
    if verdict.warnings:
        response["warnings"] = verdict.warnings
    review = {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}
    return msgspec.json.encode(review)


def _extract_policy_texts(config_map: _ConfigMap) -> tuple[source.SourceText, ...]:
    """Return the policies, named by their keys; positions read `web.policy:3:7`, as in a file."""
    data = config_map.data or {}
    return tuple(
        source.SourceText(key, policy_sources.strip_byte_order_mark(data[key]))
        for key in policy_sources.list_policy_keys(data)
    )


def _make_denial_response(refusal: versions.VersionRefusal) -> AdmissionResponse:
    """Return a denial with the first errors, and the warnings of the version."""
    cause = refusal.cause
    if not isinstance(cause, policies.PolicyError):
        return AdmissionResponse(refusal.summary)
    found = cause.result.diagnostics
    faults = [each for each in found if each.severity is diagnostics.Severity.ERROR]
    shown = [rendering.render_diagnostic(each, cause.result.texts) for each in faults[:_MAX_SHOWN]]
    if len(faults) > _MAX_SHOWN:
        shown.append(f"… and {len(faults) - _MAX_SHOWN} more")
    message = "\n\n".join([f"the policies have {rendering.summarise_findings(faults)}", *shown])
    if len(message) > _MAX_MESSAGE_CHARACTERS:
        message = message[:_MAX_MESSAGE_CHARACTERS] + "\n…"
    return AdmissionResponse(message, _format_warnings(found))


def _format_warnings(found: Sequence[diagnostics.Diagnostic]) -> tuple[str, ...]:
    """Return each warning as one line, because HTTP headers transport them."""
    texts = [
        f"{each.span}: {each.code}: {each.message}"
        for each in found
        if each.severity is diagnostics.Severity.WARNING
    ]
    hidden = len(texts) - _MAX_WARNINGS
    if hidden > 0:
        texts[_MAX_WARNINGS:] = [f"… and {hidden} more; `policysched check` shows all"]
    return tuple(_truncate_message(" ".join(text.split())) for text in texts)


def _truncate_message(text: str) -> str:
    if len(text) <= _MAX_WARNING_CHARACTERS:
        return text
    return text[: _MAX_WARNING_CHARACTERS - 1] + "…"
