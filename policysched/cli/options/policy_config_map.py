"""Options of commands that read or change the ConfigMap of the policies in a cluster."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.options import api_connection

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from policysched.kube import config_maps

_NAME = re.compile(r"[^/]+/[^/]+")


def add_policy_config_map_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the ConfigMaps of the policies and of their history."""
    parser.add_argument(
        "--policy-configmap",
        metavar="NAMESPACE/NAME",
        required=True,
        help="ConfigMap of the policies",
    )
    parser.add_argument(
        "--history",
        metavar="NAMESPACE/NAME",
        help=(
            "ConfigMap of earlier versions (default: NAME-history in the namespace of the policies)"
        ),
    )


def check_config_map_names(args: argparse.Namespace) -> None:
    """Check the names of both ConfigMaps.

    Raises:
        UsageError: a name is not of the form NAMESPACE/NAME.
    """
    for option in ("policy_configmap", "history"):
        name = getattr(args, option)
        if name is not None and not _NAME.fullmatch(name):
            written = option.replace("_", "-")
            raise errors.UsageError(f"--{written} must be NAMESPACE/NAME, not `{name}`")


def get_history_name(args: argparse.Namespace) -> str:
    """Return the name of the ConfigMap of earlier versions."""
    return args.history or f"{args.policy_configmap}-history"


@contextlib.asynccontextmanager
async def connect_to_config_maps(
    args: argparse.Namespace,
) -> AsyncIterator[config_maps.ConfigMapClient]:
    """Connect to the API server of the kubeconfig."""
    from policysched.kube import config_maps  # noqa: PLC0415 - not needed for `--help`

    async with api_connection.connect_to_api(args) as api:
        yield config_maps.ConfigMapClient(api)
