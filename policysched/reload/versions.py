"""Represent offered versions of the policies, and check and compile them."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from policysched import clock as clocks
from policysched import errors
from policysched.config import config
from policysched.lang import source
from policysched.lang.checked import content_hash
from policysched.lang.diagnostics import diagnostics
from policysched.profiles import policies
from policysched.rollout import settings

if TYPE_CHECKING:
    from policysched.compiler import compiler

_log = logging.getLogger(__name__)

VERSION_ANNOTATION = "policysched.io/version"
"""Annotation of pods: hash of the version of the policies that chose the node."""


@dataclasses.dataclass(frozen=True, slots=True)
class OfferedVersion:
    """All policy texts of a source at a given moment.

    Attributes:
        texts: one complete version.
        problem: why the version cannot be used, or "".
        is_frozen: whether reloads are frozen, except for the version `demanded`.
        demanded: hash of the version to which an operator rolled back, with or without params,
            or "".
        in_use: hash of the version that was last in use, or "" if the source does not record it.
        rollout_text: the settings of rollouts in YAML; None to use those of the configuration.
        rollout_request: the request of an operator about a rollout, a verb and a hash; or "".
    """

    texts: tuple[source.SourceText, ...] = ()
    problem: str = ""
    is_frozen: bool = False
    demanded: str = ""
    in_use: str = ""
    rollout_text: str | None = None
    rollout_request: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class VersionRefusal:
    """The reason why a version cannot be used.

    Attributes:
        hash: the hash of the version, or "" without texts.
        summary: the first error, on one line.
        details: all errors, as `check` prints them.
        cause: the exception to raise if there is no other version.
    """

    hash: str
    summary: str
    details: str
    cause: Exception


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedVersion:
    """A version without errors; only plugins can still refuse it.

    Attributes:
        texts: the policy texts.
        policy_set: the checked policies.
        compiled: the compiled rules, or None without policies.
        rollout: the stages that the version passes before it is in force.
    """

    texts: tuple[source.SourceText, ...]
    policy_set: policies.PolicySet
    compiled: compiler.CompiledProgram | None
    rollout: settings.RolloutSettings = dataclasses.field(default_factory=settings.RolloutSettings)

    @property
    def hash(self) -> str:
        """The hash of the texts and params, as in every decision; "" without policies."""
        return self.policy_set.content_hash

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings, one line each."""
        return tuple(
            f"{finding.span}: {finding.code}: {finding.message}"
            for finding in self.policy_set.findings
            if finding.severity is diagnostics.Severity.WARNING
        )


class VersionChecker:
    """Checks and compiles versions with the settings of this process."""

    def __init__(
        self,
        configuration: config.Config,
        scheduler_name: str | None,
        clock: clocks.Clock | None = None,
        *,
        has_rollouts: bool = True,
    ) -> None:
        """Use params and plugins as configured; see `policies.make_policy_set_from_texts`.

        A rule that has expired, by the wall clock of `clock`, causes a warning. Without
        `has_rollouts`, versions that declare stages are refused.
        """
        self._has_rollouts = has_rollouts
        self._clock = clock or clocks.SystemClock()
        self._configuration = configuration
        self._scheduler_name = scheduler_name
        self._params = policies.convert_params_to_text(configuration)

    def compute_hash(self, texts: Sequence[source.SourceText]) -> str:
        """Return the hash that identifies a version, even an invalid version; "" without texts."""
        return content_hash.hash_policy_texts_and_params(texts, self._params) if texts else ""

    def is_requested_by_rollback(self, offer: OfferedVersion) -> bool:
        """Return whether an operator has rolled back to this version.

        The hash of the texts alone is sufficient, because params are not stored. If they have
        changed, a rollback to the same texts results in another version.
        """
        names = (self.compute_hash(offer.texts), hash_texts(offer.texts))
        return bool(offer.texts) and offer.demanded in names

    def make_empty_version(self) -> CheckedVersion:
        """Return the version of a process without policies.

        Raises:
            ConfigurationError: params are set without policies that declare them.
        """
        made = policies.load_policy_set((), {}, self._scheduler_name, self._configuration)
        return CheckedVersion((), made, None)

    def was_in_use(self, offer: OfferedVersion) -> bool:
        """Return whether the offer was last in use, or is the target of a rollback."""
        return (
            self.is_requested_by_rollback(offer) or self.compute_hash(offer.texts) == offer.in_use
        )

    def check_version(self, offer: OfferedVersion) -> CheckedVersion | VersionRefusal:
        """Check, lint and compile a version; may run in any thread.

        For a version that was in use before, lint errors are only warnings: a newer release with
        additional lint rules must not reject policies that worked.
        """
        from policysched.profiles import lint_gate  # noqa: PLC0415 - only policies need the linter

        if offer.problem:
            return make_version_refusal("", errors.InputError("policies", offer.problem))
        mode = "warn" if self.was_in_use(offer) else self._configuration.policies.lint_errors
        try:
            made = policies.make_policy_set_from_texts(
                offer.texts,
                self._params,
                self._scheduler_name,
                self._configuration,
                self._clock.now(),
                lint_gate.choose_lint_error_handler(mode),
            )
            plan = self._read_rollout_or_none(offer)
            return CheckedVersion(offer.texts, made, policies.compile_policy_set(made), plan)
        except errors.InputError as error:
            return make_version_refusal(self.compute_hash(offer.texts), error)
        except Exception as error:  # noqa: BLE001 - logged, see below
            # A compiler bug must not end the process, which uses another version.
            _log.exception("a version of the policies could not be compiled")
            return make_version_refusal(self.compute_hash(offer.texts), error)

    def check_rollout(self, offer: OfferedVersion) -> VersionRefusal | None:
        """Return the refusal of a version whose settings of rollouts have errors, or None."""
        try:
            self._read_rollout(offer)
        except errors.InputError as error:
            return make_version_refusal(self.compute_hash(offer.texts), error)
        return None

    def declares_stages(self, offer: OfferedVersion) -> bool:
        """Return whether stages are declared; settings of rollouts with errors declare none."""
        try:
            return bool(self._read_rollout(offer).stages)
        except errors.InputError:
            return False

    def _read_rollout_or_none(self, offer: OfferedVersion) -> settings.RolloutSettings:
        """Return the settings of rollouts; without stages if they have errors and need none.

        Raises:
            ConfigurationError: the settings have errors, and the version was not in use before.
        """
        try:
            return self._read_rollout(offer)
        except errors.InputError as error:
            if not self.was_in_use(offer):
                raise
            _log.warning("the settings of rollouts are ignored: %s", error)
            return settings.RolloutSettings()

    def _read_rollout(self, offer: OfferedVersion) -> settings.RolloutSettings:
        """Return the settings of rollouts.

        Raises:
            ConfigurationError: the settings have errors.
        """
        if not self._has_rollouts:
            return self._require_no_stages(offer)
        found = self._configuration.policies.rollout
        if offer.rollout_text is not None:
            from policysched.config import config_reading  # noqa: PLC0415 - jsonschema takes 30 ms

            found = config_reading.parse_rollout(offer.rollout_text, self._configuration)
        return found

    def _require_no_stages(self, offer: OfferedVersion) -> settings.RolloutSettings:
        """Return settings without stages.

        Raises:
            ConfigurationError: stages are declared.
        """
        if offer.rollout_text is None and not self._configuration.policies.rollout.stages:
            return settings.RolloutSettings()
        raise errors.ConfigurationError(
            "policies.rollout",
            "cluster policies have no rollouts, so a new version is in force at once",
            help="remove `rollout` from the configuration, and rollout.yaml from the ConfigMap",
        )


def hash_texts(texts: Sequence[source.SourceText]) -> str:
    """Return the hash of policy texts without params, which are not stored."""
    return content_hash.hash_policy_texts_and_params(texts, {})


def make_version_refusal(version_hash: str, error: Exception) -> VersionRefusal:
    """Return the refusal of a version, with the texts of `error`."""
    if isinstance(error, policies.PolicyError):
        faults = [
            finding
            for finding in error.result.diagnostics
            if finding.severity is diagnostics.Severity.ERROR
        ]
        first = faults[0]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        summary = f"{first.span}: {first.code}: {first.message}{more}"
        return VersionRefusal(version_hash, summary, str(error), error)
    if isinstance(error, errors.InputError):
        return VersionRefusal(version_hash, str(error).partition("\n")[0], str(error), error)
    problem = f"internal error: {type(error).__name__}: {error}"
    return VersionRefusal(version_hash, problem, problem, error)
