"""Imports the command line of kube-scheduler, any version up to 1.36."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from policysched import durations
from policysched.importing.kube_scheduler import feature_gates, kube_scheduler_config, serving
from policysched.importing.reading import flag_values, flags
from policysched.importing.result import findings, import_draft, profile_plan

PROGRAM = "kube-scheduler"
_MULTI_CALL = "hyperkube"
_PROVIDERS = {"DefaultProvider": "LeastAllocated", "ClusterAutoscalerProvider": "MostAllocated"}
_LOGGING = (
    *("v", "vmodule", "log", "logging", "logtostderr", "alsologtostderr", "stderrthreshold"),
    *("skip-headers", "skip-log-headers", "one-output", "add-dir-header", "add_dir_header"),
)
_SERVING = (
    *("address", "port", "bind-address", "secure-port", "cert-dir", "tls", "profiling"),
    *("contention-profiling", "authentication", "authorization", "client-ca-file", "requestheader"),
    *("http2", "permit", "show-hidden-metrics", "disabled-metrics", "allow-metric-labels"),
    *("disable-http2-serving", "min-compatibility-version", "emulated-version"),
)
_HARD_WEIGHT = "hard-pod-affinity-symmetric-weight"
_GROUPS = {
    "leaderElection": {
        "leader-elect": "leaderElect",
        "leader-elect-lease-duration": "leaseDuration",
        "leader-elect-renew-deadline": "renewDeadline",
        "leader-elect-retry-period": "retryPeriod",
        "leader-elect-resource-namespace": "resourceNamespace",
    },
    "clientConnection": {"kube-api-qps": "qps", "kube-api-burst": "burst"},
}
"""Group of the configuration → flag → field."""
_OVERRIDES_FILE = ("leaderElection",)
"""Groups whose flags override the file of `--config`, as in kube-scheduler."""
_OWN_LEASE = (
    *("leader-elect-resource-lock", "leader-elect-resource-name"),
    *("lock-object-name", "lock-object-namespace"),
)
_OPERATIONS = "operations, not placement: see `policysched run --help` and docs/import.md"
_NAMES_FILE = "import it, too; this result is valid for the default profile"


@dataclasses.dataclass(frozen=True, slots=True)
class ReferencedFiles:
    """The files and ConfigMaps to which a command line refers.

    Attributes:
        configs: the flags `--config` and `--policy-config-file`, with their locations.
        config_maps: the flags `--policy-configmap`, with their locations.
        scheduler_name: the schedulerName for the profile of a legacy Policy.
    """

    configs: tuple[flags.CommandLineFlag, ...]
    config_maps: tuple[flags.CommandLineFlag, ...]
    scheduler_name: str


def is_kube_scheduler_command(words: Sequence[str]) -> bool:
    """Return whether the words are a command line of kube-scheduler."""
    bases = [word.rsplit("/", 1)[-1] for word in words[:2]]
    return PROGRAM in bases or bases == [_MULTI_CALL, "scheduler"]


def list_referenced_files(found: Sequence[flags.CommandLineFlag]) -> ReferencedFiles:
    """Return the files and ConfigMaps to which the command line refers."""
    names = [flag.value for flag in found if flag.name == "scheduler-name"]
    return ReferencedFiles(
        tuple(flag for flag in found if flag.name in ("config", "policy-config-file")),
        tuple(flag for flag in found if flag.name == "policy-configmap"),
        names[-1] if names else kube_scheduler_config.DEFAULT_NAME,
    )


def import_command_line(
    found: Sequence[flags.CommandLineFlag],
    at: findings.ValueLocation,
    made: import_draft.ImportDraft,
    *,
    has_files: bool,
) -> None:
    """Add the settings of the flags; the caller reads the files that they name.

    Args:
        found: the flags of the command line, parsed by `flags`.
        at: the location of the command line.
        made: the draft to extend.
        has_files: whether the profile comes from a file that is also imported.
    """
    names = list_referenced_files(found).scheduler_name
    for name, fields in _GROUPS.items():
        group = _collect_flag_group(found, fields)
        if name not in _OVERRIDES_FILE:
            in_file = made.config.get(name, {})
            group = {field: given for field, given in group.items() if field not in in_file}
        made.set_config_group(name, group)
    serving.add_serving_flags(found, made)
    for flag in found:
        _import_flag(flag, made)
    provider = _get_last_flag(found, "algorithm-provider")
    hard_weight = _get_last_flag(found, _HARD_WEIGHT)
    if has_files:
        for ignored in (provider, hard_weight):
            if ignored is not None:
                problem = f"`--{ignored.name}` has no effect when a file is given"
                made.report.note(ignored.at, problem, "kube-scheduler uses the file")
        return
    version = "v1beta1" if provider or hard_weight else "v1"
    plan = profile_plan.ProfileDraft(names, version, at)
    _apply_algorithm_provider(plan, provider, made)
    if hard_weight is not None:
        affinity = plan.choices["InterPodAffinity"]
        affinity.args = {"hardPodAffinityWeight": _parse_bounded_number(hard_weight.value)}
        affinity.comment = f"{hard_weight.at.origin_comment} --{hard_weight.name}"
    made.add_plan(plan)


def _get_last_flag(
    found: Sequence[flags.CommandLineFlag], name: str
) -> flags.CommandLineFlag | None:
    return next((flag for flag in reversed(found) if flag.name == name), None)


def _apply_algorithm_provider(
    plan: profile_plan.ProfileDraft,
    provider: flags.CommandLineFlag | None,
    made: import_draft.ImportDraft,
) -> None:
    """Set the scoring strategy of the algorithm provider; warn if the provider is unknown."""
    if provider is None:
        return
    strategy = _PROVIDERS.get(provider.value)
    if strategy is None:
        problem = f"there is no algorithm provider `{provider.value}`; the default one is used"
        made.report.warn(provider.at, problem, f"there are {', '.join(_PROVIDERS)}")
        return
    if strategy != "LeastAllocated":
        fit = plan.choices["NodeResourcesFit"]
        fit.args = {"scoringStrategy": {"type": strategy}}
        fit.comment = f"{provider.at.origin_comment} --algorithm-provider {provider.value}"


def _collect_flag_group(
    found: Sequence[flags.CommandLineFlag], fields: Mapping[str, str]
) -> dict[str, tuple[findings.ValueLocation, object]]:
    """Return the fields of one configuration group that the flags set, with their locations."""
    group: dict[str, tuple[findings.ValueLocation, object]] = {}
    for flag in found:
        field = fields.get(flag.name)
        if field is not None:
            value = flag.is_on if flag.name in flags.SWITCHES else _parse_bounded_number(flag.value)
            group[field] = (flag.at, value)
    return group


def _import_flag(flag: flags.CommandLineFlag, made: import_draft.ImportDraft) -> None:
    """Import one flag, or report it; groups and serving flags are imported elsewhere."""
    report = made.report
    match flag.name:
        case "kubeconfig":
            made.run_options["--kubeconfig"] = flag.value
        case "feature-gates":
            feature_gates.import_feature_gates(flag.value, flag.at, made)
        case name if name in _OWN_LEASE:
            kube_scheduler_config.report_lease_not_taken_over(
                f"--{name}={flag.value}", flag.at, report
            )
        case "pod-max-in-unschedulable-pods-duration":
            made.set_config_field(
                "podMaxInUnschedulablePodsSeconds", flag.at, _parse_go_duration(flag.value)
            )
        case "master":
            problem = f"`--master {flag.value}` is not supported"
            report.warn(flag.at, problem, "name the server in a kubeconfig")
        case name if name in _KNOWN | serving.FLAGS or any(
            name in group for group in _GROUPS.values()
        ):
            pass
        case name if _begins_with_any(name, _LOGGING):
            report.note(flag.at, f"`--{name}` is left out", "see `policysched run --log-level`")
        case name if _begins_with_any(name, _SERVING):
            report.note(flag.at, f"`--{name}` is left out", _OPERATIONS)
        case name:
            problem = f"`--{name}` has no counterpart"
            report.warn(flag.at, problem, "check whether it changes placements")


_KNOWN = frozenset(
    {
        *("scheduler-name", "algorithm-provider", "config", "policy-config-file"),
        *("policy-configmap", "policy-configmap-namespace", "use-legacy-policy-config"),
        _HARD_WEIGHT,
    }
)


def _begins_with_any(name: str, known: Sequence[str]) -> bool:
    return any(name == each or name.startswith(f"{each}-") for each in known)


def _parse_bounded_number(text: str) -> int | float | str:
    """Return the number in a text, or the text itself if it is not a number of bounded size."""
    found = flag_values.parse_go_number(text)
    return text if found is None else found


def _parse_go_duration(text: str) -> float | str:
    """Return a Go duration such as `1h30m` in seconds, or the text itself if it is invalid."""
    found = durations.parse_duration_seconds(text)
    return text if found is None else found


def report_unread_file(flag: flags.CommandLineFlag, report: findings.FindingCollector) -> None:
    """Warn that a flag names a file or ConfigMap that is not part of the input."""
    report.warn(flag.at, f"`--{flag.name}` names `{flag.value}`, which is not read", _NAMES_FILE)
