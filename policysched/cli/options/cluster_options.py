"""Options that select a cluster: a file of its objects, stdin, or a running cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched import errors

if TYPE_CHECKING:
    import argparse

    from policysched.inputs import live_cluster


def add_cluster_options(
    group: argparse._ActionsContainer, file_help: str, default: str | None = None
) -> None:
    """Add `--cluster`, with `file_help` as its help, and the options for a running cluster."""
    group.add_argument("--cluster", metavar="FILE", help=file_help, default=default)
    group.add_argument(
        "--live",
        action="store_true",
        help="read the running cluster of the kubeconfig, instead of --cluster",
        default=default or False,
    )
    group.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig for --live, which it implies; default: $KUBECONFIG, the pod's service "
        "account, or ~/.kube/config",
        default=default,
    )
    group.add_argument(
        "--context",
        metavar="NAME",
        help="context of the kubeconfig; implies --live",
        default=default,
    )


def choose_cluster_source(
    args: argparse.Namespace,
) -> str | live_cluster.LiveClusterReference | None:
    """Return the file, `-` for stdin, or the running cluster; None if no cluster is named.

    Raises:
        UsageError: both a file and a running cluster are named, or an option is empty.
    """
    for name in ("cluster", "kubeconfig", "context"):
        if getattr(args, name) == "":
            raise errors.UsageError(f"--{name} is empty")
    if not (args.live or args.kubeconfig or args.context):
        return args.cluster  # type: ignore[no-any-return]  # argparse values are untyped
    if args.cluster is not None:
        raise errors.UsageError(
            "--cluster reads a file, --live a running cluster; give only one of them"
        )
    from policysched.inputs import live_cluster  # noqa: PLC0415 - not needed for `--help`

    return live_cluster.LiveClusterReference(args.kubeconfig, args.context)
