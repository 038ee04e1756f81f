"""How commands print: reports for people, JSON for programs, notes on stderr."""

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
    """Add `-o`; left out it is None, so that a command can choose by its input.

    `is_again` is for a form of a command that has the option already.
    """
    parser.add_argument(
        "-o",
        "--output",
        choices=(HUMAN, WIDE, JSON),
        default=argparse.SUPPRESS if is_again else None,
        help="human (the default), wide (tables as wide as they are, whatever the terminal), or "
        "json; JSON lines are answered by JSON lines",
    )


def set_report_width(form: str | None) -> None:
    """Fold reports to the terminal's width from now on, unless `form` is `wide`."""
    global _is_wide  # noqa: PLW0603 - the tables of a command are made in many places
    _is_wide = form == WIDE


def write_text(text: str, stream: TextIO | None = None) -> None:
    """Print a text and hand it on at once: a reader may wait for each line.

    Control characters are written out, as JSON does; styles are colours on a terminal.
    """
    stream = stream or sys.stdout
    text = control_characters.escape_control_characters(text)
    shown = (
        styles.convert_styles_to_colours
        if terminal.supports_colours(stream)
        else styles.remove_style_marks
    )
    print(shown(text), file=stream, flush=True)


def write_report(text: str, stream: TextIO | None = None) -> None:
    """Print a text for people, its lines folded to the terminal's width."""
    room = _find_width_limit(stream)
    write_text(text if room is None else wrapping.wrap_text(text, room), stream)


def write_findings(text: str, stream: TextIO | None = None) -> None:
    """Print rendered findings, folded to the terminal's width.

    The severity, the place and the marks under the source are coloured.
    """
    room = _find_width_limit(stream)
    if room is not None:
        from policysched.cli.render import finding_wrapping  # noqa: PLC0415 - few runs are at a terminal

        text = finding_wrapping.wrap_findings(text, room)
    if terminal.supports_colours(stream or sys.stdout):
        from policysched.cli.render import finding_styles  # noqa: PLC0415 - as above

        text = finding_styles.apply_finding_styles(text)
    write_text(text, stream)


def write_text_exactly(text: str) -> None:
    """Print the text of a file, ended as it is: to pipes and files exactly, for `patch` or `fmt`.

    A terminal gets control characters written out.
    """
    if sys.stdout.isatty():
        text = "\n".join(map(_escape_source_line, text.split("\n")))
    sys.stdout.write(text)


def _escape_source_line(line: str) -> str:
    return control_characters.escape_control_characters(line.removesuffix("\r"))


def write_diff(lines: Sequence[str]) -> None:
    """Print the lines of a unified diff, each with its line end."""
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
    """Print an error on stderr, behind the name of the program."""
    head = styles.mark_text_style(f"{program_name.get_program_name()}:", styles.BAD)
    write_findings(f"{head} {program_name.replace_program_name(text)}", sys.stderr)


def print_warning(text: str) -> None:
    """Print a warning on stderr."""
    _write_to_stderr(styles.mark_text_style("warning:", styles.WARNING), text)


def print_note_to_stderr(text: str) -> None:
    """Print something on the side, on stderr."""
    _write_to_stderr(styles.mark_text_style("note:", styles.NOTE), text)


def _write_to_stderr(kind: str, text: str) -> None:
    line = f"{program_name.get_program_name()}: {kind} {program_name.replace_program_name(text)}"
    write_report(line, sys.stderr)


def encode_json(value: object) -> str:
    """Return a value as one line of JSON; a name of a file that is no UTF-8 has `?` in it."""
    import orjson  # noqa: PLC0415 - `--help` does without

    try:
        text = orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        import json  # noqa: PLC0415 - hardly ever needed

        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        text = text.encode("utf-8", "replace").decode()
    return control_characters.escape_control_characters(styles.escape_style_marks(text))


def write_json_array(values: Iterable[object]) -> None:
    """Print values as one JSON array, each on a line of its own as soon as it is known."""
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
    """Return aligned columns, folded to the terminal's width; without a line for an empty header.

    Columns of numbers alone, or of nothing, are aligned to the right.
    """
    return tables.format_table(header, rows, indent, _find_width_limit(), styles_of_rows)


@contextlib.contextmanager
def reserve_table_indent(indent: str) -> Iterator[None]:
    """Leave room for an indent in front of the tables that are made in the block."""
    global _indent_columns  # noqa: PLW0603 - as in `set_report_width`
    _indent_columns += len(indent)
    try:
        yield
    finally:
        _indent_columns -= len(indent)


def _find_width_limit(stream: TextIO | None = None) -> int | None:
    """Return how many columns reports may take, None for any number."""
    columns = None if _is_wide else terminal.get_terminal_width(stream or sys.stdout)
    return None if columns is None else max(columns - _indent_columns, 1)


def join_names_briefly(listed: Sequence[str]) -> str:
    """Return names joined by commas, many of them cut short."""
    return spelling.join_some_names(listed, _MAX_NAMES)


def format_count(number: int, noun: str) -> str:
    """Return `1 pod`, `2 pods`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
