"""`rollout`: show the rollout of a new version of the policies, hold it, or end it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.options import api_connection, policy_config_map
from policysched.cli.render import output, styles

if TYPE_CHECKING:
    import datetime

    from policysched.reload.rollouts import requests
    from policysched.rollout import progress

_STATUS = "status"
_HELP = {
    _STATUS: "show the stage, the judged pods and the guards of the newest rollout",
    "pause": "hold the present stage; guards still roll back",
    "resume": "continue a paused rollout",
    "promote": "use the new version for all pods now, without the remaining stages",
    "abort": "roll the new version back now",
}
_EPILOG = """\
A scheduler that follows the ConfigMap (`run --policy-configmap`) leads a new version through the
stages of `policies.rollout`. It keeps the state in the ConfigMap NAME-history. A request is an
annotation of the policies' ConfigMap; the leader acts on it within seconds. Exit code 2 if no
rollout is running.
"""
_EFFECTS = {
    "pause": "asked the leader to hold the rollout of {hash} in {stage}",
    "resume": "asked the leader to continue the rollout of {hash} in {stage}",
    "promote": "asked the leader to use version {hash} for all pods",
    "abort": "asked the leader to roll version {hash} back to {old}",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands with their options."""
    parser.epilog = _EPILOG
    commands = parser.add_subparsers(dest="rollout_command", metavar="COMMAND", required=True)
    for name, text in _HELP.items():
        own = commands.add_parser(name, help=text, description=f"{text.capitalize()}.")
        policy_config_map.add_policy_config_map_options(own)
        api_connection.add_kubeconfig_options(own)
        output.add_output_option(own)


def run(args: argparse.Namespace) -> int:
    """Show the newest rollout, or write a request about the running one."""
    import asyncio  # noqa: PLC0415 - not needed for `--help`

    policy_config_map.check_config_map_names(args)
    asyncio.run(_show_or_request(args))
    return errors.EXIT_OK


async def _show_or_request(args: argparse.Namespace) -> None:
    from policysched.reload.rollouts import requests  # noqa: PLC0415 - not needed for `--help`

    async with policy_config_map.connect_to_config_maps(args) as store:
        history = policy_config_map.get_history_name(args)
        rollouts = requests.RolloutRequests(store, args.policy_configmap, history)
        if args.rollout_command == _STATUS:
            _print_rollout(await rollouts.read(), args)
        else:
            _print_request_result(await rollouts.request(args.rollout_command), args)


# --- status ---------------------------------------------------------------------------------------


def _print_rollout(found: requests.NewestRollout, args: argparse.Namespace) -> None:
    """Print the newest rollout."""
    if args.output == output.JSON:
        output.write_text(output.encode_json(_render_rollout(found)))
    elif found.state is None:
        output.write_report(f"configmap {args.policy_configmap} has had no rollout")
    else:
        output.write_report("\n".join(_format_rollout_lines(found, found.state)))


def _render_rollout(found: requests.NewestRollout) -> dict[str, object]:
    """Return the newest rollout as JSON; see schemas/rollout.schema.json."""
    state = found.state
    if state is None:
        return {"status": "none"}
    return state.as_json() | {"isFrozen": found.is_frozen, "requested": found.requested}


def _format_rollout_lines(found: requests.NewestRollout, state: progress.RolloutState) -> list[str]:
    """Return the lines about a rollout."""
    status = "paused" if state.is_paused else state.status.describe()
    since = f"{'since' if state.is_running else 'until'} {_format_time(state.stage_started_at)}"
    style = styles.BAD if state.status.value == "rolledBack" else styles.GOOD
    lines = [
        f"rollout of {state.new_hash}: {styles.mark_text_style(status, style)}",
        f"  reason: {state.reason}",
        f"  version in force at its start: {state.old_hash}",
        f"  started: {_format_time(state.started_at)}",
        f"  {state.describe_stage()} {since}",
        f"  pods judged in this stage: {state.judged_pods:,}, needed {state.min_pods:,}",
        *(f"  guard {each}" for each in state.guards),
    ]
    if not state.reason:
        del lines[1]
    done = "pause" if state.is_paused else "resume"
    if found.requested not in ("", done):
        lines.append(f"  requested: {found.requested}; the leader has not acted on it yet")
    if found.is_frozen and state.is_running:
        lines.append("  held by the annotation policysched.io/freeze")
    return lines


def _format_time(time: datetime.datetime) -> str:
    return time.isoformat(timespec="seconds")


# --- requests -------------------------------------------------------------------------------------


def _print_request_result(done: requests.RequestResult, args: argparse.Namespace) -> None:
    """Print the request and its rollout."""
    verb, state = args.rollout_command, done.state
    if args.output == output.JSON:
        output.write_text(
            output.encode_json(
                {"hash": state.new_hash, "requested": verb, "isWritten": done.is_written}
            )
        )
        return
    if done.is_written:
        stage = state.describe_stage()
        did = _EFFECTS[verb].format(hash=state.new_hash, old=state.old_hash, stage=stage)
        output.write_report(f"{did}; `rollout status` shows when it has acted")
    else:
        output.write_report(f"{verb} of the rollout of {state.new_hash} is already requested")
    if done.is_frozen and verb in ("pause", "resume"):
        output.write_report(
            "the stage is held as long as the ConfigMap has the annotation policysched.io/freeze"
        )
