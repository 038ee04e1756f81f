"""Renders policy text from syntax trees, with comments that name the origin of each statement.

The formatter's own printer prints the trees, so that quoting and precedence are decided in one
place. The formatter then verifies the text: its result must parse to the same trees.
"""

from __future__ import annotations

import dataclasses
import decimal
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from policysched import control_characters
from policysched.importing.result import findings
from policysched.inputs import plain_yaml
from policysched.lang import source
from policysched.lang.foreign import foreign_fields
from policysched.lang.formatting import formatter, layout
from policysched.lang.parsing import parser
from policysched.lang.syntax import printing, syntax, syntax_clause, syntax_expr
from policysched.lang.words import vocabulary

SPAN = source.Span("import", 0, 0, 1, 1)
"""The span of all generated trees."""

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_ARGUMENT_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")
_MAX_NAME = 63
_TAKEN = frozenset({*vocabulary.POD_FIELDS, *vocabulary.NODE_FIELDS, *vocabulary.RESERVED_NAMES})
"""Words that are labels only in quotes, because they have another meaning in a selector."""
_CONSTANTS = ("true", "false", "null")


# ---------------------------------------------------------------------------- words


def make_word(text: str) -> syntax_expr.Value:
    """Return a word, quoted if it could have another meaning."""
    is_taken = text in _TAKEN or foreign_fields.resembles_reserved_word(text)
    is_plain = _WORD.fullmatch(text) is not None and not is_taken
    return syntax_expr.Value(SPAN, text, quoted=not is_plain)


def make_keyword(text: str) -> syntax_expr.Value:
    """Return a keyword of the language, or a name that needs no quotes."""
    return syntax_expr.Value(SPAN, text)


def make_string(text: str) -> syntax_expr.Value:
    """Return a quoted text on one line; a space replaces each run of control characters."""
    return syntax_expr.Value(SPAN, control_characters.blank_control_characters(text), quoted=True)


def make_numeral(text: object) -> syntax_expr.Numeral:
    """Return a numeral for a number that is already formatted."""
    return syntax_expr.Numeral(SPAN, str(text))


def make_number_expression(text: object) -> syntax_expr.Number:
    """Return a number as a syntax tree of an expression."""
    return syntax_expr.Number(SPAN, make_numeral(text))


class UniqueNames:
    """Assigns unique names to policies and metrics."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def reserve_name(self, wanted: str, fallback: str = "imported") -> str:
        """Return an unused DNS label similar to `wanted`, and reserve it."""
        base = _NOT_IN_NAMES.sub("-", wanted.lower()).strip("-")[:_MAX_NAME].strip("-") or fallback
        name, number_ = base, 1
        while name in self._given:
            number_ += 1
            suffix = f"-{number_}"
            name = base[: _MAX_NAME - len(suffix)].rstrip("-") + suffix
        self._given.add(name)
        return name


# ---------------------------------------------------------------------------- selectors


def make_label_requirement(
    key: str, operator: syntax_expr.Operator, values: Sequence[str] = ()
) -> syntax_expr.Requirement:
    """Return a requirement on a label; `In` and `NotIn` with one value become `=` and `!=`."""
    return _make_requirement(make_word(key), operator, values)


def make_field_requirement(
    name: str, operator: syntax_expr.Operator, values: Sequence[str] = ()
) -> syntax_expr.Requirement:
    """Return a requirement on a reserved field such as `nodeName`."""
    return _make_requirement(make_keyword(name), operator, values)


def _make_requirement(
    subject: syntax_expr.Value, operator: syntax_expr.Operator, values: Sequence[str]
) -> syntax_expr.Requirement:
    """Return a requirement; `In` and `NotIn` with one value become `=` and `!=`."""
    if len(values) == 1 and operator in ("In", "NotIn"):
        operator = "=" if operator == "In" else "!="
    if operator in ("Gt", "Lt"):
        written = tuple(make_keyword(value) for value in values)
    else:
        written = tuple(make_word(value) for value in values)
    return syntax_expr.Requirement(
        SPAN, syntax_expr.Subject(SPAN, subject), operator, written, SPAN
    )


def join_by_and(operands: Sequence[syntax_expr.Selector]) -> syntax_expr.Selector:
    """Join one or more selectors with `and`."""
    flat: list[syntax_expr.Selector] = []
    for each in operands:
        flat += each.operands if isinstance(each, syntax_expr.SelectorAnd) else [each]
    return flat[0] if len(flat) == 1 else syntax_expr.SelectorAnd(SPAN, tuple(flat))


def join_by_or(operands: Sequence[syntax_expr.Selector]) -> syntax_expr.Selector:
    """Join one or more selectors with `or`."""
    return operands[0] if len(operands) == 1 else syntax_expr.SelectorOr(SPAN, tuple(operands))


# ---------------------------------------------------------------------------- clauses


def make_amount_clause(name: str, value: object) -> syntax_clause.AmountClause:
    """Return a clause with a number, such as `weight 5` or `maxSkew 2`."""
    return syntax_clause.AmountClause(SPAN, name, make_numeral(value))


def make_word_clause(name: str, value: str) -> syntax_expr.WordClause:
    """Return a clause with a word, such as `topologyKey zone`."""
    return syntax_expr.WordClause(SPAN, name, make_word(value))


def make_unquoted_word_clause(name: str, value: str) -> syntax_expr.WordClause:
    """Return a clause with an unquoted word, such as `prefer low` or `as NAME`."""
    return syntax_expr.WordClause(SPAN, name, make_keyword(value))


def make_list_clause(name: str, values: Iterable[str]) -> syntax_expr.WordsClause:
    """Return a clause with a list of words, such as `matchLabelKeys (a, b)`."""
    return syntax_expr.WordsClause(SPAN, name, tuple(make_word(value) for value in values))


def make_missing_clause(action: str, points: int | None = None) -> syntax_clause.MissingClause:
    """Return a `missing` clause, such as `missing allow` or `missing score 0`."""
    written = None if points is None else make_numeral(points)
    return syntax_clause.MissingClause(SPAN, "missing", make_keyword(action), written)


# ---------------------------------------------------------------------------- blocks


@dataclasses.dataclass(frozen=True, slots=True)
class CommentedStatement:
    """A statement and, if not empty, the comment before it.

    Attributes:
        at: the location in the source; None if only the enclosing block has a location.
    """

    node: syntax.Statement | syntax.ProfileStatement
    comment: str = ""
    at: findings.ValueLocation | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class CommentedBlock:
    """A policy or a profile with comments that name the origin of its parts.

    Attributes:
        at: the location in the source.
        owner: the source object, as named in messages.
    """

    keyword: Literal["policy", "profile"]
    name: str
    statements: tuple[CommentedStatement, ...]
    comment: str
    at: findings.ValueLocation
    owner: str


@dataclasses.dataclass(frozen=True, slots=True)
class CommentedMetric:
    """A metric and the comment before it.

    Attributes:
        at: the first location in the source that names it.
    """

    node: syntax.Metric
    comment: str
    at: findings.ValueLocation


Item: TypeAlias = CommentedBlock | CommentedMetric


def render_policy_text(
    header: Iterable[str], items: Sequence[Item], footer: Iterable[str] = ()
) -> str:
    """Return the canonical text of the items, between the header and footer comments.

    Raises:
        ValueError: the text does not parse to the trees, which is a defect in their construction.
    """
    lines = [_render_comment(line) for line in header]
    lines += ["", "version 1", ""]
    for item in items:
        lines += [*_render_item(item), ""]
    lines += [_render_comment(line) for line in footer]
    text = source.SourceText("import.policy", "\n".join(lines) + "\n")
    parsed = parser.parse_policy_text(text)
    result = formatter.format_text(text)
    if result.text is None or parsed.file.items[1:] != tuple(
        _build_expected_tree(item) for item in items
    ):
        raise ValueError(f"the imported policy does not have the intended meaning:\n{text.text}")
    return result.text


def _build_expected_tree(item: Item) -> syntax.Item:
    """Return the tree that the parser must produce."""
    if isinstance(item, CommentedMetric):
        return item.node
    nodes = tuple(each.node for each in item.statements)
    if item.keyword == "profile":
        return syntax.Profile(SPAN, make_word(item.name), cast("Any", nodes))
    return syntax.Policy(SPAN, "policy", make_keyword(item.name), cast("Any", nodes))


def _render_comment(text: str) -> str:
    return f"# {control_characters.blank_control_characters(text)}".rstrip()


def _render_item(item: Item) -> list[str]:
    before = [_render_comment(item.comment)] if item.comment else []
    if isinstance(item, CommentedMetric):
        return [*before, *layout.format_item(item.node)]
    return [*before, f"{item.keyword} {_get_block_name(item)} {{", *_render_block_body(item), "}"]


def _get_block_name(block: CommentedBlock) -> str:
    return printing.format_value(
        make_word(block.name) if block.keyword == "profile" else make_keyword(block.name)
    )


def _render_block_body(block: CommentedBlock) -> list[str]:
    lines = []
    for each in block.statements:
        if each.comment:
            lines.append(_render_comment(each.comment))
        lines.append(_render_statement(each.node))
    return lines


def _render_statement(node: syntax.Statement | syntax.ProfileStatement) -> str:
    """Return the text of a statement of a policy or profile."""
    match node:
        case (
            syntax.ProfilePolicies()
            | syntax.ExcludePolicies()
            | syntax.UsePlugin()
            | syntax.DisablePlugins()
            | syntax.BuiltinWeight()
            | syntax.OnOutage()
            | syntax.ProfileParam()
        ):
            return printing.format_profile_statement(node)
        case _:
            return printing.format_statement(node)


# ---------------------------------------------------------------------------- plugin arguments


def make_plugin_args_node(value: Mapping[str, plain_yaml.Value]) -> syntax.ArgsObject:
    """Return the syntax tree of plugin arguments; texts are quoted only if necessary."""
    entries = tuple(
        (_make_argument_word(key), _make_plugin_argument(each)) for key, each in value.items()
    )
    return syntax.ArgsObject(SPAN, entries)


def _make_plugin_argument(value: plain_yaml.Value) -> syntax.ArgsValue:
    """Return the syntax tree of one plugin argument, with nested mappings and lists."""
    if isinstance(value, Mapping):
        return make_plugin_args_node(value)
    if isinstance(value, (list, tuple)):
        return syntax.ArgsList(SPAN, tuple(_make_plugin_argument(each) for each in value))
    if value is None or isinstance(value, bool):
        constant = {None: "null", True: "true", False: "false"}[value]
        return syntax.ArgsScalar(SPAN, make_keyword(constant))
    if isinstance(value, (int, float)):
        return syntax.ArgsScalar(SPAN, make_keyword(format_number(value)))
    return syntax.ArgsScalar(SPAN, _make_argument_word(value))


def format_number(value: float) -> str:
    """Return a number in the notation of the language, without an exponent."""
    return format(decimal.Decimal(str(value)), "f")


def _make_argument_word(text: str) -> syntax_expr.Value:
    is_plain = _ARGUMENT_WORD.fullmatch(text) is not None and text not in _CONSTANTS
    return syntax_expr.Value(SPAN, text, quoted=not is_plain)
