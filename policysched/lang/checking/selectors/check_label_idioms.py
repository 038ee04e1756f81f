"""Report labels outside selectors (`reject when disk = hdd`) and other misused names."""

from __future__ import annotations

from policysched import spelling
from policysched.lang.checking import diagnostic_collector, number_reading
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.foreign import foreign_fields, foreign_words
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import vocabulary

_CONDITIONS = (
    syntax_expr.NodeTest,
    syntax_expr.PodTest,
    syntax_expr.ClusterTest,
    syntax_expr.Comparison,
)


def report_label_comparison(
    env: number_reading.NameEnvironment, expr: syntax_expr.Comparison
) -> bool:
    """Report a comparison of a label outside a selector; return whether it was reported."""
    left, right = expr.left, expr.right
    if isinstance(left, syntax_expr.Ref) and left.name.text == "priority":
        test = "pod(priorityClassName = {})"
        return isinstance(right, syntax_expr.Ref) and report_priority_class_name(
            env, right.name, test
        )
    key = _get_label_key(env, left)
    if key is None or expr.operator not in ("=", "!="):
        return False
    is_value = isinstance(right, syntax_expr.Text | syntax_expr.PodTest)
    if not is_value and _get_unknown_name(env, right) is None:
        return False
    value = env.found.get_text_on_one_line(right.span)
    meant = foreign_fields.find_unqualified_key_meaning(env.target or "node", key)
    selector = f"{meant.domain}({meant.subject} {expr.operator} {value})" if meant.subject else ""
    fix = fixes.make_replacement_fix(expr.span, selector)
    env.found.add_error(
        "PS104",
        _describe_label(env.found.get_text_on_one_line(left.span), left, value),
        left.span,
        help=f"write `{selector}`" if selector else meant.help,
        fix=fix if selector else None,
    )
    return True


def _describe_label(written: str, label: syntax_expr.Expr, value: str) -> str:
    """Return what is wrong with `label`, which is compared with a value outside a selector."""
    match label:
        case syntax_expr.Ref():
            return f"there is no metric, param or let `{written}`"
        case syntax_expr.NodeTest():
            return f"`{written}` is a condition, and the comparison belongs into it"
        case _:
            return f"`{written}` is a number, but `{value}` is a label value"


def report_selector_function(
    env: number_reading.NameEnvironment, expr: syntax_expr.Comparison
) -> bool:
    """Report a test of a node outside `node(…)`; return whether it was reported."""
    left = expr.left
    if not isinstance(left, syntax_expr.Call) or env.target == "cluster":
        return False
    name = left.function.text
    is_text = isinstance(expr.right, syntax_expr.Text) or (
        _get_unknown_name(env, expr.right) is not None
    )
    is_test = name in ("condition", "nodeInfo") or (name == "annotation" and is_text)
    if not is_test:
        return False
    test = f"node({env.found.get_text_on_one_line(expr.span)})"
    env.found.add_error(
        "PS104",
        f"`{name}` is only allowed in selectors"
        if name != "annotation"
        else f"`{env.found.get_text_on_one_line(left.span)}` is a number here",
        left.span,
        help=f"write `{test}`",
        fix=fixes.make_replacement_fix(expr.span, test),
    )
    return True


def report_comparison_with_boolean(
    env: number_reading.NameEnvironment, expr: syntax_expr.Comparison
) -> bool:
    """Report a comparison with `true` or `false`; return whether it was reported."""
    sides = ((expr.left, expr.right), (expr.right, expr.left))
    for condition, value in sides:
        word = _get_unknown_name(env, value)
        if word in ("true", "false") and isinstance(condition, _CONDITIONS):
            written = env.found.get_text_on_one_line(condition.span)
            is_negated = (word == "false") == (expr.operator == "=")
            is_comparison = isinstance(condition, syntax_expr.Comparison)
            negated = f"not ({written})" if is_comparison else f"not {written}"
            ours = negated if is_negated else written
            env.found.add_error(
                "PS102",
                f"`{written}` is a condition; do not compare it with `{word}`",
                expr.span,
                help=f"write `{ours}`",
                fix=fixes.make_replacement_fix(expr.span, ours),
            )
            return True
    return False


def report_priority_class_name(
    env: number_reading.NameEnvironment,
    value: syntax_expr.Value,
    test: str = "priorityClassName = {}",
) -> bool:
    """Report a priority compared with a PriorityClass name; return whether it was reported.

    Args:
        env: resolves names, and collects diagnostics.
        value: the value that the priority is compared with.
        test: template of the condition to recommend, which selects the pods of a class.
    """
    name = value.text
    known = env.names | env.silent_names | env.found.lost_words
    is_other = value.quoted or name in known or name.lower() in foreign_words.LITERALS
    if is_other or env.target == "cluster" or spelling.find_nearest_names(name, env.names):
        return False
    env.found.add_error(
        "PS104",
        f"there is no param or let `{name}`",
        value.span,
        notes=("a priority is a number",),
        help=f"for pods of a class, write `{test.format(name)}`",
    )
    return True


def warn_of_field_like_key(
    found: diagnostic_collector.DiagnosticCollector,
    domain: vocabulary.Domain,
    key: syntax_expr.Value,
) -> None:
    """Warn about an unquoted label key that resembles a field."""
    meant = None if key.quoted else foreign_fields.find_key_meaning(domain, key.text)
    if meant is None:
        return
    fix = None
    if not meant.help and meant.subject:
        fix = fixes.make_replacement_fix(key.span, meant.subject)
    advice = f"write `{meant.subject}`" if fix is not None else meant.help
    found.add_diagnostic(
        diagnostics.Diagnostic(
            "PS808",
            f"`{key.text}` is a label key here, not a field of the {domain}",
            key.span,
            help=f'{advice}; for the label, write `"{key.text}"`'.removeprefix("; "),
            fix=fix,
            severity=diagnostics.Severity.WARNING,
        )
    )


def warn_of_null_value(
    found: diagnostic_collector.DiagnosticCollector, requirement: syntax_expr.Requirement
) -> None:
    """Warn about an unquoted `null`, as in `disk = null`, which is the text `null` here."""
    operators = {"=": "DoesNotExist", "!=": "Exists"}
    if requirement.operator not in operators:
        return
    value = requirement.words[0]
    if value.quoted or value.text.lower() not in foreign_fields.NO_VALUES:
        return
    key = found.get_text_on_one_line(requirement.subject.span)
    meant = f"{key} {operators[requirement.operator]}"
    found.add_diagnostic(
        diagnostics.Diagnostic(
            "PS808",
            f"`{value.text}` is text here, not the absence of a label",
            value.span,
            help=f'write `{meant}`; for the text, write `"{value.text}"`',
            fix=fixes.make_replacement_fix(requirement.span, meant),
            severity=diagnostics.Severity.WARNING,
        )
    )


def warn_of_effect_as_taint_key(
    found: diagnostic_collector.DiagnosticCollector, key: syntax_expr.Value
) -> None:
    """Warn about an unquoted effect as a taint key, as in `tolerate NoSchedule`."""
    if key.quoted or key.text not in foreign_fields.NO_TAINT_KEYS:
        return
    is_effect = key.text in vocabulary.TAINT_EFFECTS
    effect = "NoSchedule" if key.text == "NoExecute" else key.text  # NoExecute is refused
    example = f"dedicated:{effect}" if is_effect else "dedicated"
    found.add_diagnostic(
        diagnostics.Diagnostic(
            "PS808",
            f"`{key.text}` is a taint key here",
            key.span,
            help=f'name the taint, as in `{example}`; for a key of that name, write `"{key.text}"`',
            severity=diagnostics.Severity.WARNING,
        )
    )


def report_hyphen_for_underscore(
    env: number_reading.NameEnvironment, expr: syntax_expr.Binary
) -> bool:
    """Report `cpu-busy` if a name such as `cpu_busy` is defined; return whether it was reported."""
    left, right = _get_unknown_name(env, expr.left), _get_unknown_name(env, expr.right)
    if expr.operator != "-" or left is None or right is None:
        return False
    near = spelling.find_nearest_names(f"{left}_{right}", env.names)
    if not near:
        return False
    env.found.add_error(
        "PS104",
        f"there is no metric, param or let `{env.found.get_text_on_one_line(expr.span)}`",
        expr.span,
        label=f"did you mean `{near[0]}`?",
        notes=("names consist of letters, digits and `_`; `-` subtracts",),
        help=f"write `{near[0]}`",
        fix=fixes.make_replacement_fix(expr.span, near[0]),
    )
    return True


def _get_label_key(env: number_reading.NameEnvironment, expr: syntax_expr.Expr) -> str | None:
    """Return the key if the expression can only mean a label, or else None."""
    if isinstance(expr, syntax_expr.Call) and expr.function.text == "label":
        value = expr.arguments[0].value if len(expr.arguments) == 1 else None
        return env.found.get_text_on_one_line(value.span) if value is not None else None
    if isinstance(expr, syntax_expr.NodeTest):
        tested = expr.selector
        return tested.name.text if isinstance(tested, syntax_expr.SelectorRef) else None
    name = _get_unknown_name(env, expr)
    return None if name is None or spelling.find_nearest_names(name, env.names) else name


def _get_unknown_name(env: number_reading.NameEnvironment, expr: syntax_expr.Expr) -> str | None:
    """Return the name if it is neither defined nor a function, or else None."""
    if not isinstance(expr, syntax_expr.Ref):
        return None
    name = expr.name.text
    known = env.names | env.silent_names | env.found.lost_words
    words = (vocabulary.EXPRESSION_FIELDS, vocabulary.ELAPSED_TIMES, vocabulary.FUNCTIONS)
    return None if name in known or any(name in each for each in words) else name
