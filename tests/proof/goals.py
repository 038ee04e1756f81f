"""Runs the goals of a part with make, apart from the caller's environment and signals."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    import pathlib

    from tests.proof import parts

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_KEPT: Final = re.compile(
    r"PATH|LD_LIBRARY_PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TERM|TMPDIR|XDG_CACHE_HOME"
    r"|POLICYSCHED_CACHE|KUBEBUILDER_ASSETS"
    r"|(?i:\w+_PROXY)|SSL_CERT_\w+|PIP_\w+|GO\w+"  # downloads of a build
)
"""Variables of the environment that a part gets: none that changes what make or the tests do."""


def end_on_signals() -> None:
    """End by the first SIGTERM or SIGHUP as by Ctrl-C; then let nothing disturb the end.

    Several signals may come for one end: `timeout` sends one, and make passes on another. A SIGHUP
    that nohup ignores stays ignored.
    """
    for number in _ENDING:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(*_: object) -> NoReturn:
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def run_part(part: parts.Part, root: pathlib.Path, log: pathlib.Path) -> int:
    """Run a part in a checkout, write its output to `log`, and return its exit code.

    An interruption interrupts all processes of the part, too, and waits for their end: they end
    their servers, which are in sessions of their own.
    """
    ended, inherited = os.pipe()
    with (
        log.open("wb") as file,
        os.fdopen(ended, "rb") as end,
        subprocess.Popen(
            ("make", "--no-print-directory", *part.goals),
            cwd=root,
            env={name: value for name, value in os.environ.items() if _KEPT.fullmatch(name)},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            pass_fds=(inherited,),
            start_new_session=True,
        ) as make,
    ):
        os.close(inherited)
        try:
            return make.wait()
        except KeyboardInterrupt:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(make.pid, signal.SIGINT)
            end.read()  # until the last process that inherited the other end of the pipe has ended
            raise
