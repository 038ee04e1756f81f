"""`policysched ast`: print the syntax tree of policy files, or the policy text of a syntax tree."""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from policysched import errors
from policysched.cli.policy_files import policy_texts
from policysched.cli.render import output, progress
from policysched.cli.reports import profiles_text

if TYPE_CHECKING:
    from policysched.lang.interchange import tree_text

_VERSION = 1
_STDIN = "-"
_DESCRIPTION = """\
Print the syntax tree of policy files, with the position of every node, as text or as JSON
(`-o json`, schemas/ast.schema.json). --from-json converts such a tree back into policy text, in the
layout of `fmt`. Both directions preserve comments and blank lines. --profiles prints the plugins
and rules of each profile instead, in the order in which they act, with the weights in effect
(`-o json`, schemas/profiles.schema.json).
"""
_EPILOG = (
    "exit codes: 0 success, 2 errors or unreadable input, 3 invalid usage; docs/ast.md lists "
    "the kinds of nodes"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="a .policy file, a folder of such files, a ConfigMap manifest, or `-` for stdin",
    )
    parser.add_argument(
        "--from-json", metavar="FILE", help="print the policy text of a tree; `-` reads stdin"
    )
    parser.add_argument(
        "--profiles",
        action="store_true",
        help="print the plugins and rules of each profile, in their order and with their weights",
    )
    output.add_output_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print trees or policy texts."""
    if args.from_json is None:
        if not args.paths:
            raise errors.UsageError("no policies are named; give a PATH, or --from-json FILE")
        return _print_profiles(args) if args.profiles else _print_trees(args)
    if args.paths or args.output is not None or args.profiles:
        raise errors.UsageError(
            "--from-json takes no PATH, no --profiles and no -o: it prints policy text"
        )
    with progress.show_reading_progress("reading the tree", [args.from_json]):
        texts = list(_read_texts_from_trees(args.from_json))
    output.write_text_exactly("".join(texts))
    return errors.EXIT_OK


# --- trees ---------------------------------------------------------------------------------------


def _print_trees(args: argparse.Namespace) -> int:
    """Print the trees of all files as text or JSON; print only the errors if any file has some."""
    from policysched.lang.interchange import tree_text  # noqa: PLC0415 - `--help` does not need Lark

    with progress.show_reading_progress("reading policies", args.paths):
        texts = policy_texts.read_policy_texts(args.paths)
    with progress.show_progress("parsing", len(texts)) as bar:
        found = [(text, tree_text.encode_policy_text(text)) for text in bar.track_items(texts)]
    bad = [(text, each) for text, each in found if each.document is None]
    for text, each in bad:
        _print_parse_errors(text, each)
    if bad:
        return errors.EXIT_WRONG_INPUT
    documents = [each.document for _, each in found]
    if args.output == output.JSON:
        output.write_text(output.encode_json({"version": _VERSION, "texts": documents}))
    else:
        from policysched.lang.diagnostics import rendering  # noqa: PLC0415 - not needed for `--help`

        lines = (line for each in documents for line in _render_tree(each or {}))
        output.write_text("\n".join(rendering.replace_invisible_characters(line) for line in lines))
    return errors.EXIT_OK


def _print_parse_errors(text: Any, encoded: tree_text.TextEncodingResult) -> None:  # noqa: ANN401 - a source text, whose module is not loaded
    """Print the errors that prevent a text from having a tree."""
    from policysched.lang.diagnostics import rendering  # noqa: PLC0415 - not needed for `--help`

    for finding in encoded.diagnostics:
        output.write_findings(
            rendering.render_diagnostic(finding, {text.name: text}) + "\n", sys.stderr
        )
    if encoded.problem:
        output.print_error(f"`{text.name}` has no tree: {encoded.problem}")


def _render_tree(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a tree as text: kinds, words and positions, indented by level."""
    yield document["name"]
    for item in document["items"]:
        yield from _render_tree_node(item, "", "  ")


def _render_tree_node(node: dict[str, Any], field: str, indent: str) -> Iterator[str]:
    """Yield the line of a node and the lines of its children."""
    inner = {name: value for name, value in node.items() if name not in _SHOWN_ELSEWHERE}
    words = {
        name: shown
        for name, value in inner.items()
        if (shown := _format_tree_scalar(value)) is not None
    }
    said = " ".join(f"{name}={word}" for name, word in words.items())
    head = f"{field}: {node['kind']}" if field else str(node["kind"])
    at = node["at"]
    yield f"{indent}{head}{said and f' {said}'}  {at['line']}:{at['column']}"
    for name, value in inner.items():
        if name not in words:
            yield from _render_tree_value(value, name, indent + "  ")


_SHOWN_ELSEWHERE = ("kind", "at", "before", "behind", "opening", "end")


def _render_tree_value(value: object, field: str, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _render_tree_node(value, field, indent)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _render_tree_value(each, f"{field}[{number}]", indent)


def _format_tree_scalar(value: object) -> str | None:
    """Format a value that is printed on the line of its node; None for a value with children."""
    if isinstance(value, dict) and value["kind"] in ("word", "numeral", "promql"):
        from policysched.lang.syntax import printing  # noqa: PLC0415 - not needed for `--help`

        is_bare = value["kind"] == "numeral" or not (value.get("quoted") or value["kind"] != "word")
        text: str = value["text"]
        return text if is_bare else printing.format_string_literal(text)
    if isinstance(value, str | bool):
        return str(value).lower() if isinstance(value, bool) else value
    if isinstance(value, list):
        words = [_format_tree_scalar(each) for each in value]
        if all(word is not None for word in words):
            return "(" + ", ".join(word or "" for word in words) + ")"
    return None


# --- profiles ------------------------------------------------------------------------------------


def _print_profiles(args: argparse.Namespace) -> int:
    """Print the members of the profiles that the policies describe, as text or JSON."""
    from policysched.framework import handles  # noqa: PLC0415 - only profiles need the plugins
    from policysched.profiles import policies, profile_members  # noqa: PLC0415 - only they need NumPy

    with progress.show_reading_progress("reading policies", args.paths):
        policy_set = policies.load_policy_set(args.paths, {})
    made = policies.require_profiles(policies.make_profiles(policy_set, handles.Handle()))
    report = profile_members.make_profiles_report(made, policy_set.program)
    if args.output == output.JSON:
        output.write_text(output.encode_json(report))
    else:
        output.write_text(profiles_text.format_profiles_report(report))
    return errors.EXIT_OK


# --- texts ---------------------------------------------------------------------------------------


def _read_texts_from_trees(path: str) -> Iterator[str]:
    """Yield the policy texts in a file of trees.

    Raises:
        InputError: the file does not have the format of `ast` output, or a tree has no policy text;
            the error contains the JSON path.
    """
    from policysched.lang.interchange import tree_json, tree_text  # noqa: PLC0415 - `--help` does not need Lark

    document = _parse_tree_document(path)
    try:
        for at, each in enumerate(_extract_syntax_trees(document)):
            yield tree_text.decode_policy_text(each, f"$.texts[{at}]").text
    except tree_json.InvalidSyntaxTreeError as error:
        raise errors.InputError(f"{_format_path(path)}: {error.path}", str(error)) from error


def _parse_tree_document(path: str) -> object:
    """Return the JSON document in a file or on stdin.

    Raises:
        InputError: the input is not JSON.
    """
    import orjson  # noqa: PLC0415 - not needed for `--help`

    from policysched.inputs import object_lists  # noqa: PLC0415 - only this form needs it

    content = sys.stdin.buffer.read() if path == _STDIN else object_lists.read_bytes(path)
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise errors.InputError(
            f"{_format_path(path)}:{error.lineno}", f"is not JSON: {error}"
        ) from error


def _extract_syntax_trees(document: object) -> list[object]:
    """Return the trees in a document that `ast -o json` has printed.

    Raises:
        InvalidSyntaxTreeError: the document has another form or version.
    """
    from policysched.lang.interchange import tree_json  # noqa: PLC0415 - `--help` does not need Lark

    if not isinstance(document, dict) or "texts" not in document:
        raise tree_json.InvalidSyntaxTreeError(
            "$", "is not an object with `texts`, as `ast -o json` prints it"
        )
    version = document.get("version")
    if type(version) is not int or version != _VERSION:
        raise tree_json.InvalidSyntaxTreeError(
            "$.version", f"is not {_VERSION}, the only supported version"
        )
    unknown = [name for name in document if name not in ("version", "texts")]
    if unknown:
        raise tree_json.InvalidSyntaxTreeError("$", f"has no field `{unknown[0]}`")
    texts = document["texts"]
    if not isinstance(texts, list):
        raise tree_json.InvalidSyntaxTreeError("$.texts", "is not a list")
    return texts


def _format_path(path: str) -> str:
    return "<stdin>" if path == _STDIN else str(pathlib.PurePath(path))
