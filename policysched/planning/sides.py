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

NONE = "none"
"""The name of the side without policies; a folder with this name must be given as `./none`."""
_GIT = "git:"
NO_POLICIES = (source.SourceText(NONE, "version 1\n"),)
"""The texts of the side `none`."""


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
    """

    name: str
    texts: tuple[source.SourceText, ...]
    params: Mapping[str, str]
    where: str


@dataclasses.dataclass(frozen=True, slots=True)
class PlanSide:
    """The policies of one side with their params.

    Attributes:
        name: the name of the side in reports.
        policies: the checked policies.
        texts: the source texts of the policies.
        params: the values of params from options.
        configuration: of `run`, whose profiles and plugins count; None without one.
    """

    name: str
    policies: policies.PolicySet
    texts: Sequence[source.SourceText] = ()
    params: Mapping[str, str] = dataclasses.field(default_factory=dict)
    configuration: config.Config | None = None

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
    before, after = (
        SideTexts(
            " ".join(named.places),
            tuple(_read_side_texts(named, other)),
            named.params,
            f"--{named.option}",
        )
        for named, other in ((old, new), (new, old))
    )
    return make_plan_sides(before, after, shared_params, scheduler_name, now, configuration)


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
    return PlanSide(side.name, found, side.texts, params, configuration)


def _list_declared_params(sources: Sequence[source.SourceText]) -> frozenset[str]:
    """Return the names of the params that texts declare; empty if the texts have errors."""
    program = checker.check(sources).program
    return frozenset(param.name for param in program.params) if program else frozenset()


def _read_side_texts(named: SideOptions, other: SideOptions) -> list[source.SourceText]:
    """Return the policy texts that the options of one side name."""
    if NONE in named.places:
        if len(named.places) > 1:
            raise errors.UsageError(f"--{named.option} is `none` or names policies, not both")
        return list(NO_POLICIES)
    texts: list[source.SourceText] = []
    for place in dict.fromkeys(named.places):
        if place.startswith(_GIT):
            texts += _read_texts_at_revision(place, other)
        else:
            texts += _read_texts_at_path(place)
    return texts


def _read_texts_at_path(place: str) -> list[source.SourceText]:
    """Return the policy texts at a path; suggest `git:` if the path is the name of a revision."""
    try:
        return policy_sources.read_policy_texts([place])
    except errors.InputError as error:
        if not object_lists.path_exists(pathlib.Path(place)) and git_revisions.is_git_revision(
            place
        ):
            advice = f"to read this revision, write `git:{place}:PATH`"
            raise errors.InputError(error.where, error.problem, help=advice) from error
        raise


def _read_texts_at_revision(place: str, other: SideOptions) -> list[source.SourceText]:
    """Return the texts at `git:REVISION[:PATH]`; without PATH, use the paths of the other side."""
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
        text for each in known for text in git_revisions.read_policies_at_revision(revision, each)
    ]


def _extract_path_from_location(place: str) -> str:
    """Return the path in a place of the other side; "" if the place contains none."""
    if place.startswith(_GIT):
        return place.removeprefix(_GIT).partition(":")[2]
    return "" if place in (NONE, policy_sources.STDIN) else place
