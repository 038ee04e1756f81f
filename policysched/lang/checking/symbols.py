"""Collect the definitions of all texts; names must be unique, and lets must not be recursive."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from policysched.lang import text_limits
from policysched.lang.checking import diagnostic_collector
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import former_words, parser, versions
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import kubernetes_names, vocabulary

_MAX_NAME = 63


@dataclasses.dataclass(frozen=True, slots=True)
class PolicySymbols:
    """All definitions, keyed by name; if a name is defined twice, the first definition counts.

    Attributes:
        lets: valid lets, that is, neither recursive nor in a chain that is too long.
        broken_lets: names of all other lets.
        rules: policy -> rule name from `as` -> the statement.
    """

    params: Mapping[str, syntax.Param]
    lets: Mapping[str, syntax.LetExpr | syntax.LetSelector]
    broken_lets: frozenset[str]
    metrics: Mapping[str, syntax.Metric]
    policies: Mapping[str, syntax.Policy]
    profiles: Mapping[str, syntax.Profile]
    rules: Mapping[str, Mapping[str, syntax.Statement]]


class _SymbolCollector:
    def __init__(self, found: diagnostic_collector.DiagnosticCollector) -> None:
        self.found = found
        self.params: dict[str, syntax.Param] = {}
        self.lets: dict[str, syntax.LetExpr | syntax.LetSelector] = {}
        self.metrics: dict[str, syntax.Metric] = {}
        self.policies: dict[str, syntax.Policy] = {}
        self.profiles: dict[str, syntax.Profile] = {}
        self._first: dict[tuple[str, str], syntax_expr.Value] = {}

    def add_item(self, item: syntax.Item) -> None:
        """Add the definition in a top-level item; report an invalid or repeated name."""
        match item:
            case syntax.Policy(name=name):
                self._report_name_problem(
                    "policy", name, kubernetes_names.find_dns_label_problem(name.text)
                )
                if self._check_name_is_new("policy", name):
                    self.policies[name.text] = item
            case syntax.Profile(name=name):
                self._report_name_problem(
                    "profile", name, kubernetes_names.find_dns_subdomain_problem(name.text)
                )
                if self._check_name_is_new("profile", name):
                    self.profiles[name.text] = item
            case syntax.Version() | syntax.Import():
                pass
            case _:
                if self._check_name_is_new("name", item.name):
                    self._add_name(item)

    def _add_name(
        self, item: syntax.Param | syntax.LetExpr | syntax.LetSelector | syntax.Metric
    ) -> None:
        """Add a param, metric or let under its name."""
        match item:
            case syntax.Param():
                self.params[item.name.text] = item
            case syntax.Metric():
                self.metrics[item.name.text] = item
            case _:
                self.lets[item.name.text] = item

    def _check_name_is_new(self, kind: str, name: syntax_expr.Value) -> bool:
        """Return whether a name can be defined; report reserved and repeated names."""
        if kind == "name" and name.text in vocabulary.RESERVED_NAMES:
            self.found.add_error(
                "PS104",
                f"`{name.text}` is a reserved word of expressions",
                name.span,
                help="choose another name",
            )
            return False
        if kind == "name" and len(name.text) > _MAX_NAME:
            self._report_name_problem("name", name, f"has more than {_MAX_NAME} characters")
        first = self._first.setdefault((kind, name.text), name)
        if first is name:
            return True
        self.found.add_error(
            "PS104",
            f"the {kind} `{name.text}` is defined twice",
            name.span,
            secondary=(diagnostics.SpanLabel(first.span, "first here"),),
            help="give one of them another name",
        )
        return False

    def _report_name_problem(self, kind: str, name: syntax_expr.Value, problem: str) -> None:
        if problem:
            ours = kubernetes_names.convert_to_dns_label(name.text)
            self.found.report_invalid_name(
                kind, name, problem, ours if kind in ("policy", "profile") else ""
            )


def collect_symbols(
    parsed: Sequence[parser.ParseResult], found: diagnostic_collector.DiagnosticCollector
) -> PolicySymbols:
    """Collect all definitions, and report invalid, repeated and recursive names."""
    collector = _SymbolCollector(found)
    keys = {result.text.key for result in parsed}
    for result in parsed:
        _check_text_version(result, found)
        for item in result.file.items:
            collector.add_item(item)
            if isinstance(item, syntax.Import):
                _check_import_key(item, keys, found)
    lets, broken = _select_valid_lets(collector.lets, found)
    return PolicySymbols(
        collector.params,
        lets,
        broken,
        collector.metrics,
        collector.policies,
        collector.profiles,
        {name: _check_rule_names(policy, found) for name, policy in collector.policies.items()},
    )


def _check_text_version(
    result: parser.ParseResult, found: diagnostic_collector.DiagnosticCollector
) -> None:
    """Report an unknown version, one that is not first, and words of former versions."""
    for index, item in enumerate(result.file.items):
        if not isinstance(item, syntax.Version):
            continue
        version = versions.parse_language_version(item.number.text)
        if not versions.FIRST <= version <= versions.CURRENT:
            found.add_diagnostic(
                versions.diagnose_unknown_version(item.number.text, item.number.span)
            )
        if index > 0:
            found.add_error("PS108", "`version` must come first, and only once", item.span)
    for finding in former_words.diagnose_former_words(result.text):
        found.add_diagnostic(finding)


def _check_import_key(
    item: syntax.Import, keys: set[str], found: diagnostic_collector.DiagnosticCollector
) -> None:
    """Report an import of a path or of an unknown text."""
    key = item.key
    if "/" in key.text or "\\" in key.text:
        found.add_error(
            "PS107",
            f"`{key.text}` is a path",
            key.span,
            help="an import names a text in the same folder or ConfigMap, as in `metrics.policy`",
        )
    elif key.text not in keys:
        found.report_undefined_name(
            "text", key, keys, instead="check the whole folder, or all texts that belong together"
        )


def _check_rule_names(
    policy: syntax.Policy, found: diagnostic_collector.DiagnosticCollector
) -> dict[str, syntax.Statement]:
    """Return the statements that `as` names, keyed by name; report bad and repeated names."""
    names: dict[str, syntax.Statement] = {}
    for statement in policy.statements:
        for clause in getattr(statement, "clauses", ()):
            if not isinstance(clause, syntax_expr.WordClause) or clause.keyword != "as":
                continue
            word = clause.word
            problem = kubernetes_names.find_dns_label_problem(word.text)
            if problem:
                ours = kubernetes_names.convert_to_dns_label(word.text)
                found.report_invalid_name("rule name", word, problem, ours)
            elif word.text in names:
                found.add_error(
                    "PS104",
                    f"`{policy.name.text}` has two rules named `{word.text}`",
                    word.span,
                    secondary=(diagnostics.SpanLabel(names[word.text].span, "first here"),),
                )
            else:
                names[word.text] = statement
    return names


# ---------------------------------------------------------------------------- lets


def _select_valid_lets(
    lets: Mapping[str, syntax.LetExpr | syntax.LetSelector],
    found: diagnostic_collector.DiagnosticCollector,
) -> tuple[dict[str, syntax.LetExpr | syntax.LetSelector], frozenset[str]]:
    """Separate valid lets from recursive lets and lets in chains that are too long.

    A let is valid if all lets that it uses are valid. The rank of a let is the length of the
    longest chain of lets that starts with it.
    """
    uses = {
        name: list_used_names(let.expr if isinstance(let, syntax.LetExpr) else let.selector)
        & lets.keys()
        for name, let in lets.items()
    }
    ranks: dict[str, int] = {}
    for name in sort_topologically(uses):
        ranks[name] = 1 + max((ranks[each] for each in uses[name]), default=0)
    broken = set(lets) - ranks.keys()
    used_by: dict[str, set[str]] = {name: set() for name in broken}
    for name in broken:
        for each in uses[name] & broken:
            used_by[each].add(name)
    for name in broken - set(
        sort_topologically(used_by)
    ):  # the remaining lets are in a cycle, or between two cycles
        found.add_error(
            "PS104",
            f"`{name}` is defined in terms of itself",
            lets[name].name.span,
            help="replace the name with its value",
        )
    for name, rank in ranks.items():
        if rank > text_limits.MAX_LET_CHAIN:
            broken.add(name)
            found.add_error(
                "PS004",
                f"`{name}` depends on {text_limits.MAX_LET_CHAIN} or more other lets",
                lets[name].name.span,
            )
    return {name: let for name, let in lets.items() if name not in broken}, frozenset(broken)


def sort_topologically(uses: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield each name after all names that it uses; omit cycles and names that use them."""
    users: dict[str, list[str]] = {name: [] for name in uses}
    waiting = {name: len(used) for name, used in uses.items()}
    for name, used in uses.items():
        for each in used:
            users[each].append(name)
    ready = [name for name, count in waiting.items() if not count]
    while ready:
        name = ready.pop()
        yield name
        for user in users[name]:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)


def list_used_names(root: syntax_expr.SyntaxNode) -> set[str]:
    """Return the names that an expression or selector uses."""
    return {
        node.name.text
        for node in walk_syntax_nodes(root)
        if isinstance(node, (syntax_expr.Ref, syntax_expr.SelectorRef))
    }


def walk_syntax_nodes(root: syntax_expr.SyntaxNode) -> Iterator[syntax_expr.SyntaxNode]:
    """Yield `root` and every node below it."""
    pending: list[object] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple):
            pending += node
        elif isinstance(node, syntax_expr.SyntaxNode):
            yield node
            pending += [getattr(node, field.name) for field in dataclasses.fields(node)]
