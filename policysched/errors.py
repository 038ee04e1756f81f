"""Every exception that policysched raises on purpose.

    PolicySchedError                 exit 2
    ├── UsageError                   exit 3: options that make no sense, alone or together
    ├── InputError                   a file or a text that cannot be read or understood
    │   └── ConfigurationError       a profile, plugin or argument that does not exist or fit
    ├── MissingResourceError         a file that ships with policysched was not found
    ├── PluginFailure                a third-party plugin raised, or answered what makes no sense
    └── RemoteError                  a server could not be asked, or refused (see kube, promapi)

Expected outcomes are not exceptions: a pod that fits nowhere is a `Status`, a policy that is wrong
is a list of `Diagnostic`. The command line turns each of these into one line on stderr and the exit
code above; anything else that escapes is a bug and shows its traceback.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_WRONG_INPUT = 2
EXIT_USAGE = 3
EXIT_INTERRUPTED = 130
"""128 + SIGINT, the shell's convention for a process ended by Ctrl-C."""


class PolicySchedError(Exception):
    """The root; its text is one sentence for the person at the terminal."""

    exit_code: ClassVar[int] = EXIT_WRONG_INPUT


class UsageError(PolicySchedError):
    """Options or arguments that make no sense, alone or together."""

    exit_code: ClassVar[int] = EXIT_USAGE


class InputError(PolicySchedError):
    """Input that cannot be read or understood.

    Attributes:
        where: the file, or the file and the place in it (`cluster.json:3`).
        problem: what is wrong, lowercase and without a final period.
        help: what to do about it, or "" where that is obvious.
    """

    def __init__(self, where: str, problem: str, *, help: str = "") -> None:  # noqa: A002 - the word that diagnostics use
        super().__init__(f"{where}: {problem}" + (f" ({help})" if help else ""))
        self.where = where
        self.problem = problem
        self.help = help


class ConfigurationError(InputError):
    """A profile, plugin, plugin argument or source that does not exist or does not fit."""


class MissingResourceError(PolicySchedError):
    """A file that ships with policysched is not where an installation or a checkout has it."""


class PluginFailure(PolicySchedError):  # noqa: N818 - the word of the messages that name it
    """A plugin of another package raised, or its answer is not what its extension point asks for.

    Attributes:
        plugin: its name.
        point: the extension point, such as `Filter`.
    """

    def __init__(self, plugin: str, point: str, problem: str) -> None:
        super().__init__(f"plugin `{plugin}` failed at {point}: {problem}")
        self.plugin = plugin
        self.point = point


class RemoteError(PolicySchedError):
    """A server could not be asked, or refused; the packages that speak to it derive their own."""
