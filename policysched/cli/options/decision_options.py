"""Options for the secure port of a running scheduler."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policysched.observability import debug_client

FILES = ("token_file", "ca_file")
"""The options that name files."""


def add_access_options(group: argparse._ActionsContainer, default: str | None = None) -> None:
    """Add the options for the token and the certificate."""
    group.add_argument(
        "--token-file", metavar="FILE", help="file with a bearer token for the URL", default=default
    )
    group.add_argument(
        "--ca-file",
        metavar="FILE",
        help="certificate authorities to trust for the URL; default: those of the system",
        default=default,
    )
    group.add_argument(
        "--insecure-skip-tls-verify",
        action="store_true",
        help="do not verify the certificate of the URL",
        default=default,
    )


def make_credentials(args: argparse.Namespace) -> debug_client.DebugServerCredentials:
    """Return the credentials that the options name; no file is read yet."""
    from policysched.observability import debug_client  # noqa: PLC0415 - not needed for `--help`

    return debug_client.DebugServerCredentials(
        args.token_file, args.ca_file, is_unverified=bool(args.insecure_skip_tls_verify)
    )
