"""Converts sources to policies, configuration and findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from policysched import errors
from policysched.config import config_printing
from policysched.importing import source_detection, tas_policy
from policysched.importing.facts import config_fields
from policysched.importing.kube_scheduler import command_line, kube_scheduler_config, legacy_policy
from policysched.importing.reading import fields, flags
from policysched.importing.result import acceptance, findings, import_draft, policy_text
from policysched.importing.workloads import workload

POLICY_NAME = acceptance.POLICY_NAME
CONFIG_NAME = "config.yaml"


@dataclasses.dataclass(frozen=True, slots=True)
class ImportResult:
    """The policy, the configuration and the findings that an import produces.

    Attributes:
        policy: the policy text in canonical form, accepted by the checker.
        text: `policy`, with the configuration and the options as comments at the end.
        config: a configuration file, None if the defaults suffice.
        run_options: options of `policysched run`, with their values.
        findings: the parts that the result does not express, and other remarks.
    """

    policy: str
    text: str
    config: str | None
    run_options: dict[str, str]
    findings: tuple[findings.ImportFinding, ...]

    @property
    def warning_count(self) -> int:
        """The number of findings that can change a decision."""
        return sum(each.severity is findings.FindingSeverity.WARNING for each in self.findings)


def convert_sources(
    sources: Sequence[source_detection.DetectedSource],
    report: findings.FindingCollector,
    title: str,
) -> ImportResult:
    """Return the policy and the configuration that the sources describe.

    Args:
        sources: see `source_detection.detect_sources`.
        report: the findings from the detection of the sources.
        title: the name of the sources, for the first line of the policy.

    Raises:
        InputError: there is nothing to import.
    """
    made = import_draft.ImportDraft(report)
    named = _map_policy_files_to_schedulers(sources)
    flags_last = sorted(sources, key=lambda each: each.kind == source_detection.COMMAND)
    malformed = [
        error for each in flags_last if (error := _import_source(each, sources, named, made))
    ]
    if made.is_empty and malformed:
        raise malformed[0]
    if made.is_empty and not made.report.has_warnings:
        told = "; ".join(each.description for each in report.findings)
        problem = "contains nothing that can be imported" + (f": {told}" if told else "")
        raise errors.InputError(title, problem, help="docs/import.md lists the possible inputs")
    if any(each.kind in (source_detection.CONFIG, source_detection.COMMAND) for each in sources):
        made.enable_leader_election_by_default()
    return _render_import_result(made, title, sources[0].place)


def _map_policy_files_to_schedulers(
    sources: Sequence[source_detection.DetectedSource],
) -> dict[str, str]:
    """Return the schedulerName of each legacy Policy that a command line names, keyed by file."""
    found = {}
    for each in sources:
        if each.kind == source_detection.COMMAND:
            files = command_line.list_referenced_files(flags.parse_command_line_flags(each.value))
            for flag in (*files.configs, *files.config_maps):
                found[_get_file_name(flag.value)] = files.scheduler_name
            found[""] = files.scheduler_name
    return found


def _import_source(
    each: source_detection.DetectedSource,
    sources: Sequence[source_detection.DetectedSource],
    named: dict[str, str],
    made: import_draft.ImportDraft,
) -> findings.MalformedFieldError | None:
    """Add the content of a source; leave out a malformed manifest and return its error."""
    if each.kind == source_detection.COMMAND:
        _import_command_line(each, sources, made)
        return None
    given = fields.StrictFields(each.value, each.place, made.report)
    match each.kind:
        case source_detection.CONFIG:
            kube_scheduler_config.import_kube_scheduler_config(given, made)
        case source_detection.POLICY:
            name = named.get(each.key) or named.get("") or kube_scheduler_config.DEFAULT_NAME
            legacy_policy.import_legacy_policy(given, made, name)
        case _:
            return _add_manifest(given, each.kind, made)
    return None


def _add_manifest(
    given: fields.StrictFields, kind: str, made: import_draft.ImportDraft
) -> findings.MalformedFieldError | None:
    """Add one manifest; if it is malformed, omit it and keep the others."""
    try:
        if kind == source_detection.TAS:
            tas_policy.import_tas_policy(given, made)
        else:
            workload.import_workload(given, made)
    except findings.MalformedFieldError as error:
        what = f"the {given.read_text('kind')} from line {given.place.line} is left out"
        made.report.warn(error.at, error.problem, what)
        return error
    return None


def _import_command_line(
    each: source_detection.DetectedSource,
    sources: Sequence[source_detection.DetectedSource],
    made: import_draft.ImportDraft,
) -> None:
    """Import a command line; report the files that it names if no file is imported."""
    found = flags.parse_command_line_flags(each.value)
    files = command_line.list_referenced_files(found)
    named = [*files.configs, *files.config_maps]
    has_files = any(
        other.kind in (source_detection.CONFIG, source_detection.POLICY) for other in sources
    )
    if not has_files:
        for flag in named:
            command_line.report_unread_file(flag, made.report)
    command_line.import_command_line(found, each.place, made, has_files=bool(named) and has_files)


def _get_file_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


# ---------------------------------------------------------------------------- writing


def _render_import_result(
    made: import_draft.ImportDraft, title: str, at: findings.ValueLocation
) -> ImportResult:
    """Render the accepted parts of the draft and list the findings in the header."""
    items = acceptance.select_accepted_items(made.list_policy_items(at), made.report)
    found = made.report.findings
    header = [f"Imported by policysched from {title}."]
    if found:
        header += ["", "Parts of the input that are missing here, or expressed differently:"]
        header += [f"  line {each.line}: {each.description}" for each in found]
    config = config_fields.format_configuration_yaml(made.config) if made.config else None
    policy = policy_text.render_policy_text(header, items)
    text = policy_text.render_policy_text(
        header, items, _format_policy_footer(_format_shown_configuration(made), made.run_options)
    )
    return ImportResult(policy, text, config, made.run_options, found)


def _format_shown_configuration(made: import_draft.ImportDraft) -> str | None:
    """Return the configuration without secrets, which the comments of a policy must not contain."""
    if not made.config:
        return None
    fields_shown = dict(made.config)
    if "extenders" in fields_shown:
        fields_shown["extenders"] = config_printing.hide_extender_secrets(made.config["extenders"])
    return config_fields.format_configuration_yaml(fields_shown)


def _format_policy_footer(config: str | None, run_options: dict[str, str]) -> list[str]:
    """Return the configuration and the options, which a policy cannot contain, as comment lines."""
    lines: list[str] = []
    if config is not None:
        lines += [f"{CONFIG_NAME}, which `--out DIR` writes:", "", *config.splitlines()]
    if run_options:
        options = " ".join(f"{name} {value}" for name, value in run_options.items())
        lines += ["", f"policysched run {options}"] if lines else [f"policysched run {options}"]
    return lines
