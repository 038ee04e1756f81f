"""Extracts the wording of policy texts, which checked policies do not contain."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping

from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.parsing import parser
from policysched.lang.syntax import kept_parentheses, printing, syntax

_UNKNOWN_SCOPE = "for pods"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclasses.dataclass(frozen=True, slots=True)
class DefinitionTexts:
    """The wording of one side's policy texts.

    Attributes:
        scopes: policy → its scope statement.
        lets: let → its expression or selector.
        metrics: metric → its query.
    """

    scopes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    lets: Mapping[str, str] = dataclasses.field(default_factory=dict)
    metrics: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def get_scope_statement(self, policy: checked.CheckedPolicy) -> str:
        """Return the scope statement of a policy; `for pods` if it is unknown."""
        return self.scopes.get(policy.name, _UNKNOWN_SCOPE)


def read_definition_texts(texts: Iterable[source.SourceText]) -> DefinitionTexts:
    """Return the wording of texts that have no errors."""
    scopes: dict[str, str] = {}
    lets: dict[str, str] = {}
    metrics: dict[str, str] = {}
    for text in texts:
        for item in map(
            kept_parentheses.strip_parentheses_marks, parser.parse_policy_text(text).file.items
        ):
            match item:
                case syntax.Policy(name=name, statements=statements):
                    said = (each for each in statements if isinstance(each, syntax.Scope))
                    scopes.update((name.text, printing.format_statement(each)) for each in said)
                case syntax.LetExpr(name=name, expr=expr):
                    lets[name.text] = printing.format_expression(expr)
                case syntax.LetSelector(name=name, selector=selector):
                    lets[name.text] = f"{{ {printing.format_selector(selector)} }}"
                case syntax.Metric(name=name, query=query):
                    metrics[name.text] = query.text
                case _:
                    pass
    return DefinitionTexts(scopes, lets, metrics)


def collect_names_in_rule(rule: str, *sides: DefinitionTexts) -> set[str]:
    """Return all names in the text of a rule and in the definitions of these names."""
    found: set[str] = set()
    pending = [rule]
    while pending:
        for name in set(_NAME.findall(pending.pop())) - found:
            found.add(name)
            behind = ((side.lets.get(name), side.metrics.get(name)) for side in sides)
            pending += [text for pair in behind for text in pair if text is not None]
    return found
