"""Reads the two sides of a plan: the old and the new policies."""

from __future__ import annotations

import dataclasses
import datetime
import pathlib
from collections.abc import Mapping, Sequence

from policysched import errors, spelling
from policysched.config import config
from policysched.inputs import object_lists, policy_sources
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.words import profile_names
from policysched.planning import git_revisions, metric_keys, wording
from policysched.profiles import named_profile, policies
from policysched.rollout import settings

NONE = "none"
"""The name of the side without policies; a folder with this name must be given as `./none`."""
_GIT = "git:"
NO_POLICIES = (source.SourceText(NONE, "version 1\n"),)
"""The texts of the side `none`."""
_NO_FILE = policy_sources.PolicySourceFile(NONE, NO_POLICIES[0].text, NO_POLICIES)


@dataclasses.dataclass(frozen=True, slots=True)
class SideOptions:
    """The command line options for one side.

    Attributes:
        option: the name of the option, for error messages.
        places: paths, `git:REVISION:PATH`, `git:REVISION` or `none`.
        params: the values of params for this side only.
    """

    option: str
    places: Sequence[str]
    params: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class SideTexts:
    """The policy texts of one side, not yet checked.

    Attributes:
        name: the name of the side in reports; `none` for a side without policies.
        texts: the policies; NO_POLICIES if there are none.
        params: the values of params for this side only.
        where: the place of the policies in error messages, such as `--to`.
        rollout: the settings of rollouts beside the texts; None to use those of the configuration.
    """

    name: str
    texts: tuple[source.SourceText, ...]
    params: Mapping[str, str]
    where: str
    rollout: settings.RolloutSettings | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PlanSide:
    """The policies of one side with their params.

    Attributes:
        name: the name of the side in reports.
        policies: the checked policies.
        texts: the source texts of the policies.
        params: the values of params from options.
        configuration: of `run`, whose profiles and plugins count; None without one.
        rollout: the stages that these policies pass with `run`.
    """

    name: str
    policies: policies.PolicySet
    texts: Sequence[source.SourceText] = ()
    params: Mapping[str, str] = dataclasses.field(default_factory=dict)
    configuration: config.Config | None = None
    rollout: settings.RolloutSettings = dataclasses.field(default_factory=settings.RolloutSettings)

    def locate_span(self, span: source.Span) -> str | None:
        """Return `file:line:column` of a span, also in manifests; None if it is in another text."""
        text = next((each for each in self.texts if each.name == span.file), None)
        return None if text is None else ":".join(map(str, text.place(span.start)))

    def get_text(self, span: source.Span) -> str:
        """Return the text of a span on one line; "" for a span in another text."""
        text = next((each for each in self.texts if each.name == span.file), None)
        return "" if text is None else " ".join(text.slice(span).split())

    def list_metrics_read(self, scheduler_name: str | None) -> dict[str, str]:
        """Map the keys of the metrics that rules read, in one profile or in all, to their names."""
        program = self.policies.program
        profiles = program.profiles if program else ()
        return {
            metric.key: metric.name
            for each in profiles
            if scheduler_name is None or each.name in (None, scheduler_name)
            for metric in each.metrics
        }

    @property
    def profile_names(self) -> frozenset[str]:
        """The declared profiles, or else the implied one, as in `run`; empty for `none`."""
        program = self.policies.program
        if program is None or self.name == NONE:
            return frozenset()
        return frozenset(
            each.name or profile_names.DEFAULT_SCHEDULER_NAME for each in program.profiles
        )

    def leaves_pods_unserved(self, other: PlanSide, scheduler_name: str) -> bool:
        """Return whether no profile of this side serves pods with a schedulerName.

        If only `other` declares the profile, it was added or removed. No fallback replaces it on
        this side, unless this side has no profiles at all. Pods with a name that neither side
        declares are served only if both sides have a fallback.
        """
        if scheduler_name in self.profile_names:
            return False
        if scheduler_name in other.profile_names:
            return bool(self.profile_names)
        return not (self._has_fallback and other._has_fallback)

    @property
    def _has_fallback(self) -> bool:
        program = self.policies.program
        return program is None or program.decides_all_pods

    def read_definition_texts(self) -> wording.DefinitionTexts:
        """Return the wording of the policy texts of this side."""
        return wording.read_definition_texts(self.texts)


def read_plan_sides(
    old: SideOptions,
    new: SideOptions,
    shared_params: Mapping[str, str],
    scheduler_name: str | None,
    now: datetime.datetime,
    configuration: config.Config | None = None,
) -> tuple[PlanSide, PlanSide]:
    """Read the policies of both sides; see `make_plan_sides`.

    Raises:
        InputError: an input cannot be read or is invalid.
        UsageError: an option combines `none` with policies, or gives `git:` without the revision
            or the path of the policies.
    """
    before = _make_side_texts(old, _read_side_files(old, new))
    files = _read_side_files(new, old)
    after = _make_side_texts(new, files, _read_rollout(files, f"--{new.option}", configuration))
    return make_plan_sides(before, after, shared_params, scheduler_name, now, configuration)


def _make_side_texts(
    named: SideOptions,
    files: Sequence[policy_sources.PolicySourceFile],
    rollout: settings.RolloutSettings | None = None,
) -> SideTexts:
    texts = tuple(text for file in files for text in file.texts)
    return SideTexts(" ".join(named.places), texts, named.params, f"--{named.option}", rollout)


def _read_rollout(
    files: Sequence[policy_sources.PolicySourceFile],
    where: str,
    configuration: config.Config | None,
) -> settings.RolloutSettings | None:
    """Return the settings in `rollout.yaml` of the ConfigMaps in manifests; None without any.

    Raises:
        ConfigurationError: the settings have errors, or those of two ConfigMaps differ.
    """
    if not any(file.is_manifest for file in files):
        return None
    from policysched.config import config_reading  # noqa: PLC0415 - jsonschema takes 30 ms

    found = config_reading.read_manifest_rollouts(files, configuration)
    if any(each != found[0] for each in found):
        problem = f"`{config_reading.ROLLOUT_KEY}` differs between ConfigMaps"
        raise errors.ConfigurationError(where, problem, help="`run` reads one ConfigMap")
    return found[0] if found else None


def make_plan_sides(
    old: SideTexts,
    new: SideTexts,
    shared_params: Mapping[str, str],
    scheduler_name: str | None,
    now: datetime.datetime,
    configuration: config.Config | None = None,
) -> tuple[PlanSide, PlanSide]:
    """Check the policies of both sides; each side gets the `shared_params` that it declares.

    Metrics with the same key but different definitions get different keys, so that one cluster can
    contain samples for both sides.

    Raises:
        InputError: the policies of a side are invalid.
        ConfigurationError: a param is unknown, or has an invalid value.
    """
    declared = [_list_declared_params(each.texts) for each in (old, new)]
    for name in shared_params:
        if all(name not in names for names in declared):
            raise errors.ConfigurationError(
                "--params",
                f"neither side declares a param `{name}`",
                help=spelling.suggest_names(name, {*declared[0], *declared[1]}),
            )
    made = []
    for side, names in zip((old, new), declared, strict=True):
        params = {name: text for name, text in shared_params.items() if name in names}
        params |= side.params
        made.append(_make_side(side, params, scheduler_name, now, configuration))
    before, after = made
    apart = metric_keys.separate_metric_keys(before.policies, after.policies)
    return dataclasses.replace(before, policies=apart), after


def _make_side(
    side: SideTexts,
    params: Mapping[str, str],
    scheduler_name: str | None,
    now: datetime.datetime,
    configuration: config.Config | None,
) -> PlanSide:
    judge = named_profile.make_other_profile_finding_dropper(scheduler_name)
    try:
        found = policies.make_policy_set_from_texts(
            side.texts, params, scheduler_name, configuration, now=now, judge=judge
        )
    except errors.ConfigurationError as error:
        problem = f"{error.problem} in the policies of {side.where}"
        raise errors.ConfigurationError(error.where, problem, help=error.help) from error
    rollout = side.rollout
    if rollout is None:
        rollout = configuration.policies.rollout if configuration else settings.RolloutSettings()
    return PlanSide(side.name, found, side.texts, params, configuration, rollout)


def _list_declared_params(sources: Sequence[source.SourceText]) -> frozenset[str]:
    """Return the names of the params that texts declare; empty if the texts have errors."""
    program = checker.check(sources).program
    return frozenset(param.name for param in program.params) if program else frozenset()


def _read_side_files(
    named: SideOptions, other: SideOptions
) -> list[policy_sources.PolicySourceFile]:
    """Return the files with policies that the options of one side name."""
    if NONE in named.places:
        if len(named.places) > 1:
            raise errors.UsageError(f"--{named.option} is `none` or names policies, not both")
        return [_NO_FILE]
    files: list[policy_sources.PolicySourceFile] = []
    for place in dict.fromkeys(named.places):
        if place.startswith(_GIT):
            files += _read_files_at_revision(place, other)
        else:
            files += _read_files_at_path(place)
    return files


def _read_files_at_path(place: str) -> list[policy_sources.PolicySourceFile]:
    """Return the files at a path; suggest `git:` if the path is the name of a revision."""
    try:
        return policy_sources.read_policy_files([place])
    except errors.InputError as error:
        if not object_lists.path_exists(pathlib.Path(place)) and git_revisions.is_git_revision(
            place
        ):
            advice = f"to read this revision, write `git:{place}:PATH`"
            raise errors.InputError(error.where, error.problem, help=advice) from error
        raise


def _read_files_at_revision(
    place: str, other: SideOptions
) -> list[policy_sources.PolicySourceFile]:
    """Return the files at `git:REVISION[:PATH]`; without PATH, use the paths of the other side."""
    revision, colon, path = place.removeprefix(_GIT).partition(":")
    if not revision:
        raise errors.UsageError(f"`{place}` has no revision; write `git:REVISION:PATH`")
    if colon:
        return git_revisions.read_policies_at_revision(revision, path)
    paths = [_extract_path_from_location(each) for each in other.places]
    known = [each for each in paths if each]
    if not known:
        raise errors.UsageError(
            f"`{place}` has no path of the policies; write `git:{revision}:PATH`"
        )
    return [
        file for each in known for file in git_revisions.read_policies_at_revision(revision, each)
    ]


def _extract_path_from_location(place: str) -> str:
    """Return the path in a place of the other side; "" if the place contains none."""
    if place.startswith(_GIT):
        return place.removeprefix(_GIT).partition(":")[2]
    return "" if place in (NONE, policy_sources.STDIN) else place
