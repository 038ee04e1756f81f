"""The output of commands: reports for users, machine-readable JSON, notes on stderr."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from policysched import control_characters, spelling
from policysched.cli import program_name
from policysched.cli.render import styles, tables, terminal, wrapping

HUMAN = "human"
JSON = "json"
WIDE = "wide"
_MAX_NAMES = 6
_DIFF_STYLES = {"+": styles.GOOD, "-": styles.BAD, "@": styles.NOTE}
_is_wide = False
_indent_columns = 0


def add_output_option(parser: argparse.ArgumentParser, *, is_again: bool = False) -> None:
    """Add `-o`; the default is None, so that a command can choose a format for its input.

    `is_again` is true for a form of a command that already has the option.
    """
    parser.add_argument(
        "-o",
        "--output",
        choices=(HUMAN, WIDE, JSON),
        default=argparse.SUPPRESS if is_again else None,
        help="human (the default), wide (tables are not folded to the width of the terminal), "
        "or json; JSON lines as input give JSON lines as output",
    )


def set_report_width(form: str | None) -> None:
    """Fold later reports to the terminal's width, unless `form` is `wide`."""
    global _is_wide  # noqa: PLW0603 - the tables of a command are made in many places
    _is_wide = form == WIDE


def write_text(text: str, stream: TextIO | None = None) -> None:
    """Print a text and flush the stream, because a reader can be waiting for each line.

    Control characters are escaped as in JSON. Styles become colours on a terminal.
    """
    stream = stream or sys.stdout
    text = control_characters.escape_keeping_lines(text)
    shown = (
        styles.convert_styles_to_colours
        if terminal.supports_colours(stream)
        else styles.remove_style_marks
    )
    print(shown(text), file=stream, flush=True)


def write_report(text: str, stream: TextIO | None = None) -> None:
    """Print a text for users, folded to the terminal's width."""
    room = _find_width_limit(stream)
    write_text(text if room is None else wrapping.wrap_text(text, room), stream)


def write_findings(text: str, stream: TextIO | None = None) -> None:
    """Print rendered findings, folded to the terminal's width.

    The severity, the location and the marks under the source are coloured on a terminal.
    """
    room = _find_width_limit(stream)
    if room is not None:
        from policysched.cli.render import finding_wrapping  # noqa: PLC0415 - few runs print to a terminal

        text = finding_wrapping.wrap_findings(text, room)
    if terminal.supports_colours(stream or sys.stdout):
        from policysched.cli.render import finding_styles  # noqa: PLC0415 - as above

        text = finding_styles.apply_finding_styles(text)
    write_text(text, stream)


def write_text_exactly(text: str) -> None:
    """Print the text of a file without adding a line ending.

    Pipes and files get the exact text, for programs such as `patch`. On a terminal, control
    characters are escaped.
    """
    if sys.stdout.isatty():
        text = "\n".join(map(_escape_source_line, text.split("\n")))
    sys.stdout.write(text)


def _escape_source_line(line: str) -> str:
    return control_characters.escape_keeping_lines(line.removesuffix("\r"))


def write_diff(lines: Sequence[str]) -> None:
    """Print the lines of a unified diff, which include their line endings."""
    if lines and terminal.supports_colours(sys.stdout):
        plain = [line.removesuffix("\n").removesuffix("\r") for line in lines]
        write_text(
            "\n".join(
                styles.mark_text_style(line, _DIFF_STYLES.get(line[:1], "")) for line in plain
            )
        )
    else:
        write_text_exactly("".join(lines))


def print_error(text: str) -> None:
    """Print an error on stderr, prefixed with the name of the program."""
    head = styles.mark_text_style(f"{program_name.get_program_name()}:", styles.BAD)
    write_findings(f"{head} {program_name.replace_program_name(text)}", sys.stderr)


def print_warning(text: str) -> None:
    """Print a warning on stderr."""
    _write_to_stderr(styles.mark_text_style("warning:", styles.WARNING), text)


def print_note_to_stderr(text: str) -> None:
    """Print a note on stderr."""
    _write_to_stderr(styles.mark_text_style("note:", styles.NOTE), text)


def _write_to_stderr(kind: str, text: str) -> None:
    line = f"{program_name.get_program_name()}: {kind} {program_name.replace_program_name(text)}"
    write_report(line, sys.stderr)


def encode_json(value: object) -> str:
    """Encode a value as one line of JSON; invalid bytes in file names become `?` characters."""
    import orjson  # noqa: PLC0415 - not needed for `--help`

    try:
        text = orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        import json  # noqa: PLC0415 - rarely needed

        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        text = text.encode("utf-8", "replace").decode()
    return control_characters.escape_keeping_lines(styles.escape_style_marks(text))


def write_json_array(values: Iterable[object]) -> None:
    """Print values as one JSON array, each on its own line as soon as it is available."""
    before = "["
    for value in values:
        print(before, encode_json(value), sep="", end="", flush=True)
        before = ",\n"
    write_text("[]" if before == "[" else "]")


def format_table(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    indent: str = "",
    styles_of_rows: Sequence[str] = (),
) -> str:
    """Format aligned columns, folded to the terminal's width; an empty header gets no line.

    Columns that contain only numbers and empty cells are aligned to the right.
    """
    return tables.format_table(header, rows, indent, _find_width_limit(), styles_of_rows)


@contextlib.contextmanager
def reserve_table_indent(indent: str) -> Iterator[None]:
    """Reserve room for an indent before the tables that are formatted within the context."""
    global _indent_columns  # noqa: PLW0603 - as in `set_report_width`
    _indent_columns += len(indent)
    try:
        yield
    finally:
        _indent_columns -= len(indent)


def _find_width_limit(stream: TextIO | None = None) -> int | None:
    """Return the maximum width of reports in columns; None for no limit."""
    columns = None if _is_wide else terminal.get_terminal_width(stream or sys.stdout)
    return None if columns is None else max(columns - _indent_columns, 1)


def join_names_briefly(listed: Sequence[str]) -> str:
    """Join names with commas; long lists are shortened."""
    return spelling.join_some_names(listed, _MAX_NAMES)


def format_count(number: int, noun: str) -> str:
    """Format a number with a noun: `1 pod`, `2 pods`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
