"""`audit`: list running pods that the policies in force would not place where they are.

policysched audit --cluster FILE POLICY...
policysched audit --live --prometheus URL --for 10m POLICY...
policysched audit --live --prometheus URL --evict --dry-run=false POLICY...
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from policysched import clock as clocks
from policysched import errors
from policysched.cli import fast_exit
from policysched.cli.options import cluster_options, offline_options
from policysched.cli.render import output, progress
from policysched.cli.subcommands import audit_evict, audit_inputs

if TYPE_CHECKING:
    from policysched.auditing import moving, violations
    from policysched.offline import sessions
    from policysched.profiles import policies

_TEXT, _SARIF = "text", "sarif"
_EPILOG = """\
exit codes: 0 no violation, 1 violations, 2 unreadable input, 3 invalid usage

POLICY is a .policy file, a folder of such files, or a ConfigMap manifest. Only the rules of
policies are audited, not kube-scheduler's plugins; a missing sample is no violation.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "policies",
        metavar="POLICY",
        nargs="*",
        help="the policies in force; default: `policies.paths` of --config",
    )
    group = parser.add_argument_group("cluster")
    cluster_options.add_cluster_options(
        group,
        "the output of `kubectl get nodes,pods -A -o json` (or yaml), optionally with "
        "namespaces, services and workloads; `-` reads it from stdin",
    )
    group.add_argument(
        "--params",
        "--param",
        metavar="NAME=VALUE",
        action="append",
        help="value of a param of the policies (repeatable)",
    )
    audit_inputs.add_metric_options(group)
    group.add_argument(
        "--at",
        "--now",
        dest="now",
        metavar="TIME",
        type=offline_options.parse_now,
        help="time of the audit, such as 2026-03-02T10:00:00+01:00; default: now",
    )
    group.add_argument("--scheduler-name", metavar="N", help="use this profile for all pods")
    group.add_argument(
        "--config",
        metavar="FILE",
        help="configuration of `run`: its profiles, plugins, params and policy files count",
    )
    audit_evict.add_evict_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=(_TEXT, output.HUMAN, output.WIDE, output.JSON, _SARIF),
        default=_TEXT,
        help="text (the default), wide (tables are not folded to the width of the terminal), "
        "json, or sarif for code scanning",
    )


def run(args: argparse.Namespace) -> int:
    """Print the violations."""
    audit_evict.check_evict_options(args)
    if args.for_seconds and args.prometheus is None:
        raise errors.UsageError("--for needs --prometheus URL: other inputs have no past samples")
    if args.metrics is not None and args.prometheus is not None:
        raise errors.UsageError("--metrics and --prometheus are mutually exclusive")
    offline_options.refuse_empty_options(args, "prometheus")
    from policysched import process  # noqa: PLC0415 - not needed for `--help`

    with process.pause_garbage_collection():  # it takes a sixth of the time for a large cluster
        return _audit(args)


def _audit(args: argparse.Namespace) -> int:
    """Audit, move violators if the options request it, and print the result."""
    from policysched.offline import sessions  # noqa: PLC0415 - `--help` does not need NumPy

    clock = clocks.SystemClock()
    began_seconds = clock.monotonic_seconds()
    # Prometheus gets and gives times in milliseconds, so fractions of them cannot be compared.
    args.now = (args.now or clock.now()).replace(microsecond=0)
    inputs = _read_inputs(args)
    with progress.show_reading_progress("reading the input", [args.cluster]):
        session = sessions.OfflineDeciderSource(inputs)
    offline_options.print_session_warnings(session)
    if session.is_lines:
        raise errors.InputError("<stdin>", "has JSON lines; an audit needs one cluster")
    _require_version_in_force(session.factory.policies, is_moving=args.evict)
    names = {spec.name for spec in session.factory.policies.specs}
    # A pod of another scheduler is not where it is by these rules: no profile is assumed for it.
    session.factory = dataclasses.replace(
        session.factory, leaves_out=lambda name: name not in names
    )
    decider, result = audit_inputs.AuditSource(session, args).audit()
    fast_exit.keep_until_exit(decider)
    if args.evict:
        audit_evict.require_samples(decider, args)
    if args.prometheus is None:
        offline_options.print_missing_samples_note(session)
    offline_options.print_unserved_pods_note(decider)
    if args.for_seconds:
        lasting = [each for each in result.violations if _lasts(each, args.for_seconds)]
        result = dataclasses.replace(result, violations=lasting)
    moves = None
    if args.evict:
        moves = audit_evict.move_violators(decider, result.violations, args, began_seconds)
    _write(decider, result, args, moves)
    code = audit_evict.find_error_code(moves or ())
    return code or (errors.EXIT_FINDINGS if result.violations else errors.EXIT_OK)


def _read_inputs(args: argparse.Namespace) -> sessions.OfflineInputs:
    """Return the inputs; without POLICY, the policies are those of the configuration.

    Raises:
        UsageError: an option is missing or invalid, or there are no policies.
        InputError: the configuration cannot be read or is invalid.
    """
    inputs = offline_options.read_configured_inputs(args)
    if not inputs.policies and inputs.configuration is not None:
        inputs = dataclasses.replace(inputs, policies=inputs.configuration.policies.paths)
    if not inputs.policies:
        raise errors.UsageError("no policies are named: a file, a folder, a manifest, or `-`")
    return inputs


def _require_version_in_force(policy_set: policies.PolicySet, *, is_moving: bool) -> None:
    """Print a warning if another version of the policies is in force.

    Raises:
        InputError: pods were to be moved by the wrong version.
    """
    problem = audit_inputs.find_other_version(policy_set)
    advice = "`policysched rollback --list -o json` has the texts of each version"
    if problem and is_moving:
        raise errors.InputError("--evict", problem, help=advice)
    if problem:
        output.print_warning(f"{problem}; {advice}")


def _lasts(violation: violations.Violation, least_seconds: float) -> bool:
    """Return whether a violation by metrics has lasted long enough; others have no age."""
    return violation.age is None or violation.age.seconds >= least_seconds


def _write(
    decider: sessions.PodDecider,
    result: violations.AuditResult,
    args: argparse.Namespace,
    moves: list[moving.MoveResult] | None,
) -> None:
    """Print the report in the form that the options name."""
    from policysched.auditing import report as reports  # noqa: PLC0415 - not needed for `--help`
    from policysched.cli.reports import audit_sarif, audit_text  # noqa: PLC0415 - as above

    policy_set = decider.policy_set
    report = reports.make_report(result, args.now, decider.choice.policies, policy_set.content_hash)
    if moves is not None:
        report["moves"] = reports.render_moves(moves, is_dry_run=audit_evict.is_dry_run(args))
    if args.output == output.JSON:
        output.write_text(output.encode_json(report))
    elif args.output == _SARIF:
        texts = {each.name: each for each in policy_set.texts}
        output.write_text(output.encode_json(audit_sarif.make_sarif_log(report, result, texts)))
    else:
        output.write_report(audit_text.format_audit_text(report))
