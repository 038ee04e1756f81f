"""Check taint patterns: in `tolerate`, and in `tainted(…)` of a selector."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

from policysched import spelling
from policysched.lang.checked import checked_selector
from policysched.lang.checking import number_reading
from policysched.lang.checking.selectors import check_label_idioms, param_values, whole_numbers
from policysched.lang.diagnostics import fixes
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import kubernetes_names, vocabulary

_PARTS_OF_TOLERATIONS = frozenset({"key", "operator", "value", "effect"})
_TAINT_OPERATORS = {None: "Exists", "Exists": "Exists", "=": "Equal", "Gt": "Gt", "Lt": "Lt"}


def _report_value_as_effect(
    env: number_reading.NameEnvironment, pattern: syntax_expr.Toleration, effect: syntax_expr.Value
) -> None:
    """Report `dedicated:web`, where the taint's value is in the place of the effect."""
    effects = spelling.join_alternatives(f"`{each}`" for each in vocabulary.TAINT_EFFECTS)
    if pattern.key.text in _PARTS_OF_TOLERATIONS:
        env.found.add_error(
            "PS001",
            f"`{effect.text}` is not a taint effect",
            effect.span,
            notes=("a toleration is written as one pattern",),
            help="write the pattern, as in `tolerate key=value:NoSchedule`",
        )
        return
    meant = f"{pattern.key.text}={effect.text}"
    can_be_value = pattern.value is None
    fix = fixes.make_replacement_fix(pattern.span, meant)
    env.found.add_error(
        "PS001",
        f"`{effect.text}` is not a taint effect",
        effect.span,
        help=f"write `{meant}`; effects are {effects}" if can_be_value else f"write {effects}",
        fix=fix if can_be_value else None,
    )


def check_taint_pattern(
    env: number_reading.NameEnvironment,
    pattern: syntax_expr.Toleration,
    effects: tuple[str, ...],
) -> checked_selector.TaintPattern | None:
    """Check a taint pattern; `effects` apply if it has none. Return None after an error."""
    if pattern.value is not None:
        values = param_values.replace_params(env, (pattern.value,), is_list=False)
        if values is None:
            return None
        pattern = dataclasses.replace(pattern, value=cast("syntax_expr.Value", values[0]))
    found = env.found
    good = True
    if pattern.value is None:
        check_label_idioms.warn_of_effect_as_taint_key(found, pattern.key)
    for word, problem in (
        (pattern.key, kubernetes_names.find_label_key_problem(pattern.key.text)),
        (
            pattern.value,
            pattern.value and kubernetes_names.find_label_value_problem(pattern.value.text),
        ),
    ):
        if word is not None and problem:
            what = "key" if word is pattern.key else "value"
            found.report_invalid_name(f"taint {what}", word, problem)
            good = False
    if pattern.effect is not None and pattern.effect.text not in vocabulary.TAINT_EFFECTS:
        if not spelling.find_nearest_names(pattern.effect.text, vocabulary.TAINT_EFFECTS):
            _report_value_as_effect(env, pattern, pattern.effect)
        else:
            found.report_word_not_allowed(
                "a taint effect", pattern.effect, vocabulary.TAINT_EFFECTS
            )
        good = False
    value = pattern.value.text if pattern.value else ""
    if pattern.operator in ("Gt", "Lt") and pattern.value is not None and good:
        number = whole_numbers.check_whole_number(env, pattern.value, pattern.operator)
        good, value = number is not None, str(number)
    if not good:
        return None
    return checked_selector.TaintPattern(
        pattern.key.text,
        cast("Any", _TAINT_OPERATORS[pattern.operator]),
        value,
        cast("Any", (pattern.effect.text,) if pattern.effect else effects),
        pattern.span,
    )
