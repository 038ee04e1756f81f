"""Options that choose the API server, and the connection to it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from policysched.kube.http import client


def add_kubeconfig_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the cluster."""
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="default: $KUBECONFIG, the pod's service account, or ~/.kube/config",
    )
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig")


@contextlib.asynccontextmanager
async def connect_to_api(args: argparse.Namespace) -> AsyncIterator[client.ApiClient]:
    """Connect to the API server of the kubeconfig.

    Raises:
        KubeconfigError: the address or the credentials cannot be read.
    """
    import random  # noqa: PLC0415 - not needed for `--help`

    from policysched import clock as clocks  # noqa: PLC0415 - as above
    from policysched.kube.auth import kubeconfig  # noqa: PLC0415 - as above
    from policysched.kube.http import client  # noqa: PLC0415 - as above

    connection = await kubeconfig.load_api_client_config(
        args.kubeconfig, args.context, clocks.SystemClock()
    )
    async with client.ApiClient(connection, rng=random.Random()) as api:
        yield api
