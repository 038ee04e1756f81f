"""The exceptions that policysched raises deliberately.

    PolicySchedError                 exit 2
    ├── UsageError                   exit 3: options that are invalid, alone or in combination
    ├── InputError                   a file or a text that cannot be read or parsed
    │   └── ConfigurationError       a profile, plugin or argument that does not exist or is invalid
    ├── MissingResourceError         a file that ships with policysched was not found
    ├── PluginFailure                an external plugin raised, or returned an invalid answer
    └── RemoteError                  a server was unreachable or refused (see kube, promapi)

Expected outcomes are not exceptions: a pod that fits on no node is a `Status`, an invalid policy is
a list of `Diagnostic`. The command line prints each of these exceptions on stderr and exits with
the code above. Any other exception that escapes is a bug and shows its traceback.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_WRONG_INPUT = 2
EXIT_USAGE = 3
EXIT_INTERRUPTED = 130
"""128 + SIGINT: the shell's exit code for a process that Ctrl-C ended."""


class PolicySchedError(Exception):
    """The base class; its text is one sentence for the user at the terminal."""

    exit_code: ClassVar[int] = EXIT_WRONG_INPUT


class UsageError(PolicySchedError):
    """Options or arguments that are invalid, alone or in combination."""

    exit_code: ClassVar[int] = EXIT_USAGE


class InputError(PolicySchedError):
    """Input that cannot be read or parsed.

    Attributes:
        where: the file, or the file and the place in it (`cluster.json:3`).
        problem: what is wrong, in lower case and without a full stop.
        help: how to fix it, or "" if that is obvious.
    """

    def __init__(self, where: str, problem: str, *, help: str = "") -> None:  # noqa: A002 - the word that diagnostics use
        super().__init__(f"{where}: {problem}" + (f" ({help})" if help else ""))
        self.where = where
        self.problem = problem
        self.help = help


class ConfigurationError(InputError):
    """A profile, plugin, plugin argument or source that does not exist or is invalid."""


class MissingResourceError(PolicySchedError):
    """A file that ships with policysched is missing from the installation or checkout."""


class PluginFailure(PolicySchedError):  # noqa: N818 - messages use this word
    """An external plugin raised an exception, or its answer is invalid for its extension point.

    Attributes:
        plugin: name of the plugin.
        point: the extension point, such as `Filter`.
    """

    def __init__(self, plugin: str, point: str, problem: str) -> None:
        super().__init__(f"plugin `{plugin}` failed at {point}: {problem}")
        self.plugin = plugin
        self.point = point


class RemoteError(PolicySchedError):
    """A server was unreachable or refused a request; `kube` and `promapi` define subclasses."""
