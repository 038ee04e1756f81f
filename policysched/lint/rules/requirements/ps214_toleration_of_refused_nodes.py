"""PS214: a toleration of taints on nodes that another rule for the same pods rejects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import node_constraints
from policysched.lint.sets import selector_sets, taint_patterns


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for known in about.enforced_rules:
        for policy in known.policies:
            tolerated = [each for each in policy.rules if isinstance(each, checked.TolerationRule)]
            if tolerated:
                asked = known.find_node_constraints(policy)
                yield from _diagnose_useless_tolerations(about, tolerated, asked)


def _diagnose_useless_tolerations(
    about: rule_input.LintInput,
    tolerated: Sequence[checked.TolerationRule],
    asked: Sequence[node_constraints.NodeConstraint],
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each tolerated taint if a constraint rejects nodes with this taint."""
    selectors = [each.selector for each in asked]
    if len(asked) > selector_sets.MAX_OPERANDS or selector_sets.can_never_match_together(
        *selectors
    ):
        return  # PS213 reports this
    for each in tolerated:
        for pattern in each.patterns:
            refusing = next((d for d in asked if _refuses_tainted_nodes(d.selector, pattern)), None)
            if refusing is not None:
                yield _make_finding(about, pattern, refusing)


def _refuses_tainted_nodes(
    selector: checked_selector.Selector, pattern: checked_selector.TaintPattern
) -> bool:
    """Return whether the selector requires nodes without the tolerated taint."""
    return any(
        isinstance(each, checked_selector.TaintRequirement)
        and taint_patterns.covers_taint_pattern(each.pattern, pattern)
        and selector_sets.can_never_match_together(selector, each)
        for each in checked_selector.walk_requirements(selector)
    )


def _make_finding(
    about: rule_input.LintInput,
    pattern: checked_selector.TaintPattern,
    refusing: node_constraints.NodeConstraint,
) -> diagnostics.Diagnostic:
    """Return the finding for a toleration and the rule that rejects the tolerated nodes."""
    shown = " ".join(about.texts[pattern.span.file].slice(pattern.span).split())
    return diagnostics.Diagnostic(
        "PS214",
        f"`{shown}` is tolerated, but `{refusing.rule.head.name}` rejects nodes with this taint",
        pattern.span,
        secondary=(
            diagnostics.SpanLabel(refusing.rule.head.span, "rejects them, for the same pods"),
        ),
        help="remove one of the two",
    )


RULE = rule.LintRule("PS214", diagnostics.Severity.WARNING, _find_violations)
