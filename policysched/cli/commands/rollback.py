"""`rollback`: write an earlier version of the policies back into their ConfigMap."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.options import api_connection, policy_config_map
from policysched.cli.render import output

if TYPE_CHECKING:
    from policysched.reload import rollback

_EPILOG = """\
A scheduler that follows the ConfigMap (`run --policy-configmap`) keeps each version that it has
used in the ConfigMap NAME-history. It loads the restored version like any other edit, even while
reloads are frozen. The author of the bad version, such as a GitOps controller, may write it again;
--freeze holds it back until the annotation `policysched.io/freeze` is removed. The history contains
texts but no params: if params have changed, the restored version gets another hash.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "hash",
        nargs="?",
        default="",
        metavar="HASH",
        help=(
            "hash of the version, or its beginning; default: the newest version other than the "
            "current one"
        ),
    )
    policy_config_map.add_policy_config_map_options(parser)
    parser.add_argument("--list", action="store_true", help="list the versions and change nothing")
    parser.add_argument(
        "--freeze", action="store_true", help="hold back all other versions from now on"
    )
    api_connection.add_kubeconfig_options(parser)
    output.add_output_option(parser)


def run(args: argparse.Namespace) -> int:
    """List the versions, or roll back to one of them."""
    import asyncio  # noqa: PLC0415 - not needed for `--help`

    policy_config_map.check_config_map_names(args)
    if args.list and (args.hash or args.freeze):
        raise errors.UsageError("--list changes nothing; remove HASH and --freeze")
    asyncio.run(_list_versions_or_roll_back(args))
    return errors.EXIT_OK


async def _list_versions_or_roll_back(args: argparse.Namespace) -> None:
    """Connect to the API server, then list the versions or roll back."""
    from policysched.reload import rollback  # noqa: PLC0415 - not needed for `--help`

    async with policy_config_map.connect_to_config_maps(args) as store:
        history = policy_config_map.get_history_name(args)
        back = rollback.Rollback(store, args.policy_configmap, history)
        if args.list:
            _print_policy_versions(await back.list_versions(), args)
        else:
            _print_rollback_outcome(await back.roll_back(args.hash, freeze=args.freeze), args)


def _print_policy_versions(kept: rollback.StoredVersions, args: argparse.Namespace) -> None:
    """Print the stored versions; the version in use is marked."""
    if args.output == output.JSON:
        output.write_text(
            output.encode_json(
                [_render_policy_version(each, kept.current_hash) for each in kept.versions]
            )
        )
        return
    rows = [
        (
            key.hash,
            key.loaded_at.isoformat(timespec="seconds"),
            ", ".join(text.name.rpartition("/")[2] for text in former.texts),
            "in use" if key.hash == kept.current_hash else "",
        )
        for key, former in kept.versions
    ]
    output.write_report(output.format_table(("version", "loaded at", "keys", ""), rows))


def _render_policy_version(version: rollback.Version, in_use: str) -> dict[str, object]:
    """Return a stored version as JSON, with its policy texts."""
    key, former = version
    return {
        "hash": key.hash,
        "loadedAt": key.loaded_at.isoformat(),
        "origin": former.origin,
        "inUse": key.hash == in_use,
        "texts": [
            {"name": text.name.rpartition("/")[2], "text": text.text} for text in former.texts
        ],
    }


def _print_rollback_outcome(done: rollback.RollbackResult, args: argparse.Namespace) -> None:
    """Print the version, whether it was written, and whether other versions are held back."""
    key, _ = done.version
    if args.output == output.JSON:
        said = {"hash": key.hash, "isWritten": done.is_written, "isFrozen": done.is_frozen}
        output.write_text(output.encode_json(said))
        return
    loaded_at = key.loaded_at.isoformat(timespec="seconds")
    if done.is_written:
        did = f"wrote version {key.hash}, loaded at {loaded_at}, into"
    else:
        did = f"version {key.hash}, loaded at {loaded_at}, is already in"
    output.write_report(f"{did} configmap {args.policy_configmap}")
    if done.is_frozen:
        output.write_report(
            "other versions are held back as long as it has the annotation policysched.io/freeze"
        )
