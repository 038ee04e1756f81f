"""Reads the input of an import, and the files that a command line names."""

from __future__ import annotations

import sys

from policysched import errors
from policysched.importing import source_detection
from policysched.importing.reading import flags
from policysched.importing.result import findings
from policysched.inputs import object_lists

STDIN, STDIN_NAME = "-", "<stdin>"
_FILES = ("config", "policy-config-file")


def read_file_or_stdin(path: str) -> tuple[str, str]:
    """Return the text of a file and its name for messages; `-` is standard input.

    Raises:
        InputError: the file cannot be read, or is not UTF-8.
        UsageError: the path is empty.
    """
    if not path:
        raise errors.UsageError("the path of the input is empty")
    where = STDIN_NAME if path == STDIN else path
    try:
        content = sys.stdin.buffer.read() if path == STDIN else object_lists.read_bytes(path)
        return content.decode("utf-8-sig"), where
    except OSError as error:
        raise errors.InputError(where, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise errors.InputError(where, "is not UTF-8 text") from error


def read_command_line_sources(
    words: list[str], report: findings.FindingCollector
) -> list[source_detection.DetectedSource]:
    """Return a command line and the contents of the files that it names.

    Only a command line that the user types can name local files; files that a manifest names are
    not opened.

    Raises:
        InputError: a named file cannot be read, or has the wrong content.
    """
    command = source_detection.make_command_source(words, "command line")
    found = [command]
    for flag in flags.parse_command_line_flags(command.value):
        if flag.name in _FILES:
            text, where = read_file_or_stdin(flag.value)
            found += source_detection.detect_sources(text, where, report, None)
    return found
