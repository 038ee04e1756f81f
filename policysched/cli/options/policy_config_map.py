"""Options of commands that read or change the ConfigMap of the policies in a cluster."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from policysched import errors

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


def add_kubeconfig_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the cluster."""
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="default: $KUBECONFIG, the pod's service account, or ~/.kube/config",
    )
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig")


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
    import random  # noqa: PLC0415 - not needed for `--help`

    from policysched import clock as clocks  # noqa: PLC0415 - as above
    from policysched.kube import config_maps  # noqa: PLC0415 - as above
    from policysched.kube.auth import kubeconfig  # noqa: PLC0415 - as above
    from policysched.kube.http import client  # noqa: PLC0415 - as above

    connection = await kubeconfig.load_api_client_config(
        args.kubeconfig, args.context, clocks.SystemClock()
    )
    async with client.ApiClient(connection, rng=random.Random()) as api:
        yield config_maps.ConfigMapClient(api)
