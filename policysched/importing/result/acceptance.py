"""Keeps the parts of an import that the language accepts; the others become findings.

The text is checked as `policysched check` and `run` check it. A statement with an error is left
out, and a policy with an error in its scope is left out entirely. This is repeated until no error
remains.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from policysched import errors
from policysched.framework import handles
from policysched.importing.result import findings, policy_text
from policysched.inputs import plain_yaml
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax
from policysched.profiles import plugin_sets, policies

POLICY_NAME = "imported.policy"
_NO_SCOPE = "the policy is left out because it would select other pods"
_LEFT_OUT = "it is left out"
_UNREADABLE = "the language cannot express this"


class _Refusal(NamedTuple):
    """An error in the text, with the item and statement that contain it.

    Attributes:
        statement: the index of the statement in the item; None for the item as a whole.
        word: the text at which the error is reported, or "" if unknown.
        option: the option of the rule that contains the error, or "" if none does.
    """

    item: int
    statement: int | None
    problem: str
    word: str = ""
    option: str = ""


def select_accepted_items(
    items: Sequence[policy_text.Item], report: findings.FindingCollector
) -> list[policy_text.Item]:
    """Return the items that the language accepts, and warn about the others.

    Raises:
        InputError: a plugin refuses its arguments, or an error is in none of the items, such as
            incompatible profiles.
    """
    kept = list(items)
    while refusals := _find_refusals(kept):
        for each in refusals:
            _warn_of_refusal(kept[each.item], each, report)
        kept = _drop_refused_parts(kept, refusals)
    return kept


def _make_argument_error(item: policy_text.Item, refusal: _Refusal) -> errors.InputError:
    """Return the error for plugin arguments with which kube-scheduler would not start."""
    at = item.at
    if isinstance(item, policy_text.CommentedBlock) and refusal.statement is not None:
        at = item.statements[refusal.statement].at or at
    problem = f"`{at.dotted_path}`: {refusal.problem}" if at.path else refusal.problem
    return errors.InputError(f"{at.where}:{at.line}", problem)


def _warn_of_refusal(
    item: policy_text.Item, refusal: _Refusal, report: findings.FindingCollector
) -> None:
    """Warn about a refused part, at its most precise location in the source."""
    at, advice = item.at, _LEFT_OUT
    if isinstance(item, policy_text.CommentedBlock) and refusal.statement is not None:
        statement = item.statements[refusal.statement]
        at = statement.at or at
        advice = _NO_SCOPE if isinstance(statement.node, syntax.Scope) else _LEFT_OUT
    exact = _find_leaf(at, refusal.word, refusal.option) or at
    owner = item.owner if isinstance(item, policy_text.CommentedBlock) else "a metric"
    name = f"`{exact.dotted_path}` of {owner}" if exact.path else owner
    report.warn(exact, f"{name}: {refusal.problem}", advice)


def _find_leaf(at: findings.ValueLocation, word: str, option: str) -> findings.ValueLocation | None:
    """Return the location of a key or scalar under `at` that equals `word`, or None.

    If several match, a match in the field with the name of the option has precedence; otherwise the
    first match is returned.
    """
    value: plain_yaml.Value = at.document.value
    for key in at.path:
        match value:
            case Mapping():
                value = value.get(str(key))
            case list() if isinstance(key, int) and key < len(value):
                value = value[key]
            case _:
                return None
    paths = [path for path, text in _iterate_keys_and_scalars(value, ()) if text == word]
    in_option = [path for path in paths if option in path]
    return next((at.locate_child(*path) for path in (*in_option, *paths)), None)


def _iterate_keys_and_scalars(
    value: plain_yaml.Value, path: plain_yaml.Path
) -> Iterator[tuple[plain_yaml.Path, str]]:
    """Yield the path and the text of every key and scalar in a value."""
    match value:
        case Mapping():
            for key, inner in value.items():
                yield (*path, key), str(key)
                yield from _iterate_keys_and_scalars(inner, (*path, key))
        case list():
            for number, inner in enumerate(value):
                yield from _iterate_keys_and_scalars(inner, (*path, number))
        case _:
            yield path, str(value)


# ---------------------------------------------------------------------------- leaving out


def _drop_refused_parts(
    items: Sequence[policy_text.Item], refusals: Sequence[_Refusal]
) -> list[policy_text.Item]:
    """Return the items without refused parts, and without policies that have no rule left."""
    gone = {(each.item, each.statement) for each in refusals}
    kept: list[policy_text.Item] = []
    dropped: set[str] = set()
    for number, item in enumerate(items):
        left = _drop_refused_statements(item, number, gone)
        if left is not None:
            kept.append(left)
        elif isinstance(item, policy_text.CommentedBlock):
            dropped.add(item.name)
    return [_drop_policy_names(each, dropped) for each in kept]


def _drop_refused_statements(
    item: policy_text.Item, number: int, gone: set[tuple[int, int | None]]
) -> policy_text.Item | None:
    """Return an item without its refused statements, or None if the item is left out.

    A policy is left out if its scope is refused, or all of its rules are.
    """
    if (number, None) in gone:
        return None
    if not isinstance(item, policy_text.CommentedBlock):
        return item
    lost = [each for n, each in enumerate(item.statements) if (number, n) in gone]
    left = tuple(each for n, each in enumerate(item.statements) if (number, n) not in gone)
    has_scope = not any(isinstance(each.node, syntax.Scope) for each in lost)
    has_rules = any(not isinstance(each.node, syntax.Scope) for each in left)
    is_needed = item.keyword == "profile" or (has_scope and has_rules)
    return dataclasses.replace(item, statements=left) if is_needed else None


def _drop_policy_names(item: policy_text.Item, dropped: set[str]) -> policy_text.Item:
    """Return a profile without the names of dropped policies."""
    if not isinstance(item, policy_text.CommentedBlock) or not dropped:
        return item
    statements = []
    for each in item.statements:
        node = each.node
        if isinstance(node, syntax.ProfilePolicies):
            names = tuple(name for name in node.names if name.text not in dropped)
            if not names:
                continue
            node = dataclasses.replace(node, names=names)
        statements.append(dataclasses.replace(each, node=node))
    return dataclasses.replace(item, statements=tuple(statements))


# ---------------------------------------------------------------------------- finding errors


def _find_refusals(items: Sequence[policy_text.Item]) -> list[_Refusal]:
    """Check the text of the items and return its errors; raise for an error in plugin arguments."""
    try:
        text = policy_text.render_policy_text((), items)
    except ValueError:
        unreadable = list(_find_unrenderable_statements(items))
        if not unreadable:
            raise
        return unreadable
    checked = source.SourceText(POLICY_NAME, text)
    try:
        policy_set = policies.make_policy_set_from_texts([checked], {})
    except policies.PolicyError as error:
        located = _StatementLocator(items, error.result)
        return [
            located.make_refusal_at_span(each.span, each.message, checked.slice(each.span))
            for each in error.result.diagnostics
            if each.severity is diagnostics.Severity.ERROR
        ]
    made = policies.make_profiles(policy_set, handles.Handle())
    if not isinstance(made, list):
        return []
    refusal = _StatementLocator(items, checker.check([checked])).make_refusal_of_fault(made[0])
    raise _make_argument_error(items[refusal.item], refusal)


def _find_unrenderable_statements(items: Sequence[policy_text.Item]) -> Iterator[_Refusal]:
    """Yield the statements whose text would not parse to the same tree."""
    for number, item in enumerate(items):
        if not isinstance(item, policy_text.CommentedBlock):
            if not _is_renderable_item(item):
                yield _Refusal(number, None, _UNREADABLE)
            continue
        if not _is_renderable_item(dataclasses.replace(item, statements=())):
            yield _Refusal(number, None, _UNREADABLE)
            continue
        for n, each in enumerate(item.statements):
            if not _is_renderable_item(dataclasses.replace(item, statements=(each,))):
                yield _Refusal(number, n, _UNREADABLE)


def _is_renderable_item(item: policy_text.Item) -> bool:
    try:
        policy_text.render_policy_text((), [item])
    except ValueError:
        return False
    return True


class _StatementLocator:
    """Finds the statement that contains a location in the text."""

    def __init__(self, items: Sequence[policy_text.Item], result: checker.CheckResult) -> None:
        """Pair the items with their parsed form, which begins with the `version` item."""
        self._where = items[0].at.where if items else POLICY_NAME
        self._spans: list[tuple[int, int | None, source.Span]] = []
        self._options: list[tuple[source.Span, str]] = []
        read = result.parsed[0].file.items[1:]
        for number, (_, node) in enumerate(zip(items, read, strict=True)):
            statements = node.statements if isinstance(node, syntax.Policy | syntax.Profile) else ()
            self._spans += [(number, n, each.span) for n, each in enumerate(statements)]
            self._options += [
                (clause.span, clause.keyword)
                for each in statements
                if isinstance(each, syntax.PodAffinity | syntax.TopologySpread)
                for clause in each.clauses
            ]
            self._spans.append((number, None, node.span))
            if isinstance(node, syntax.Profile):
                self._spans.append((number, None, node.name.span))

    def make_refusal_at_span(self, span: source.Span, problem: str, word: str) -> _Refusal:
        """Return the error at a span, in the innermost statement or item."""
        for item, statement, around in self._spans:
            if around.start <= span.start < around.end:
                return _Refusal(
                    item, statement, problem, _unquote_word(word), self._find_clause_keyword(span)
                )
        raise self._make_unlocated_error(problem)

    def make_refusal_of_fault(self, fault: plugin_sets.PluginSetFault) -> _Refusal:
        """Return the error for a fault of a plugin, which gives its location only as text."""
        for item, statement, around in self._spans:
            if str(around) == fault.where:
                return _Refusal(item, statement, fault.problem)
        raise self._make_unlocated_error(str(fault))

    def _find_clause_keyword(self, span: source.Span) -> str:
        inside = (name for around, name in self._options if around.start <= span.start < around.end)
        return next(inside, "")

    def _make_unlocated_error(self, problem: str) -> errors.InputError:
        return errors.InputError(self._where, f"cannot be converted to a policy: {problem}")


def _unquote_word(word: str) -> str:
    try:
        text = json.loads(word) if word.startswith('"') else word
    except ValueError:
        text = word.strip('"')
    return str(text)
