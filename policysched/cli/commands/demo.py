"""`demo`: the shipped policies place pods on an embedded cluster, with explanations.

The scheduler, its queue, its cache and its policies are those of `run`; only the API server is
simulated. On a terminal, the demo is drawn and paced for viewers. Otherwise, it prints the same
content as text.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import pathlib
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.render import output

if TYPE_CHECKING:
    from rich import console

    from policysched.cli.demo import embedded_cluster


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--fast", action="store_true", help="do not pause")
    parser.add_argument(
        "--speed",
        type=_parse_speed,
        default=1.0,
        metavar="X",
        help="play at X times the normal speed",
    )
    parser.add_argument("--plain", action="store_true", help="print plain text even on a terminal")
    parser.add_argument(
        "-o",
        "--output",
        choices=(output.HUMAN, output.WIDE),
        help=(
            "human (the default), or wide (the tables of --plain are not folded to the width "
            "of the terminal)"
        ),
    )


def run(args: argparse.Namespace) -> int:
    """Play the demo, which ends without user input."""
    from rich import console  # noqa: PLC0415 - not needed for `--help`

    from policysched import _resources  # noqa: PLC0415 - as above
    from policysched.cli.demo import embedded_cluster, screen_view  # noqa: PLC0415 - as above

    # FORCE_COLOR makes rich treat a pipe as a terminal and move its cursor.
    screen = console.Console(highlight=False, force_terminal=sys.stdout.isatty())
    speed = None if args.fast or not screen.is_terminal else args.speed
    with tempfile.TemporaryDirectory(prefix="policysched-demo-") as folder:
        for file in _resources.find_resource_folder("policies").glob("*.policy"):
            shutil.copy(file, folder)
        stage = embedded_cluster.DemoCluster(pathlib.Path(folder))
        if screen_view.can_draw_on_screen(screen) and not args.plain:
            _play_on_screen(stage, screen, speed)
        else:
            _play_as_text(stage, speed)
    return errors.EXIT_OK


def _play_on_screen(
    stage: embedded_cluster.DemoCluster, screen: console.Console, speed: float | None
) -> None:
    from policysched.cli.demo import screen_view, story  # noqa: PLC0415 - not needed for `--help`

    with screen_view.ScreenView(screen, speed) as view:
        asyncio.run(story.play_demo_story(stage, view))


def _play_as_text(stage: embedded_cluster.DemoCluster, speed: float | None) -> None:
    from policysched.cli.demo import story, text_view  # noqa: PLC0415 - not needed for `--help`

    asyncio.run(story.play_demo_story(stage, text_view.TextView(speed)))


def _parse_speed(text: str) -> float:
    """Parse a finite speed above 0."""
    speed = float(text)
    if not 0 < speed < math.inf:
        msg = f"`{text}` is not a number above 0"
        raise argparse.ArgumentTypeError(msg)
    return speed
