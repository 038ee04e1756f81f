"""Check requirements that compare a label of a node or pod with values of the incoming pod."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, cast

from policysched.lang.checked import checked_selector
from policysched.lang.checking import number_reading
from policysched.lang.checking.selectors import check_label_idioms, check_owners, param_values
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import glob_patterns, kubernetes_names, vocabulary

_OPERATORS = {"=": False, "In": False, "!=": True, "NotIn": True}
"""Operator -> whether it negates."""


def check_compared_label(
    env: number_reading.NameEnvironment,
    requirement: syntax_expr.Requirement,
    domain: Literal["node", "pod"],
) -> checked_selector.ComparedLabel | None:
    """Return a requirement with values of the pod; None if an error was reported.

    `domain` is the kind of object that has the label.
    """
    values = param_values.replace_params(
        env, requirement.values, is_list=requirement.operator in ("In", "NotIn")
    )
    if values is None:
        return None
    requirement = dataclasses.replace(requirement, values=values)
    key = _check_key(env, requirement.subject, domain)
    is_negated = _check_operator(env, requirement)
    texts = [_check_pod_value(env, each) for each in requirement.pod_values]
    good = tuple(dict.fromkeys(each for each in texts if each is not None))
    words_fine = _check_label_values(env, requirement)
    if key is None or is_negated is None or None in texts or not words_fine:
        return None
    words = tuple(sorted({each.text for each in requirement.words}))
    return checked_selector.ComparedLabel(key, words, good, is_negated, requirement.span)


def _check_key(
    env: number_reading.NameEnvironment,
    subject: syntax_expr.Subject,
    domain: Literal["node", "pod"],
) -> str | None:
    """Return the key of the label; no other property can be compared."""
    name = subject.name
    is_field = not name.quoted and name.text in vocabulary.FIELDS[domain]
    if subject.argument is not None or is_field:
        env.found.add_error(
            "PS108",
            f"`{env.found.get_text_on_one_line(subject.span)}` cannot be compared with a value of "
            "the pod",
            subject.span,
            help=f"compare a label of the {domain}",
        )
        return None
    check_label_idioms.warn_of_field_like_key(env.found, domain, name)
    problem = kubernetes_names.find_label_key_problem(name.text)
    if problem:
        env.found.report_invalid_name("label key", name, problem)
    return None if problem else name.text


def _check_operator(
    env: number_reading.NameEnvironment, requirement: syntax_expr.Requirement
) -> bool | None:
    """Return whether the operator negates; None if an error was reported."""
    is_negated = _OPERATORS.get(requirement.operator)
    if is_negated is None:
        operator = env.found.get_text_on_one_line(requirement.operator_span)
        env.found.add_error(
            "PS108",
            f"`{operator}` cannot compare with a value of the pod",
            requirement.operator_span,
            help="supported operators are In, NotIn, = and !=",
        )
    return is_negated


def _check_label_values(
    env: number_reading.NameEnvironment, requirement: syntax_expr.Requirement
) -> bool:
    """Return whether all words are valid label values; report patterns and the others."""
    good = True
    for word in requirement.words:
        if glob_patterns.is_pattern(word.text):
            _report_pattern(env, requirement, word)
            good = False
            continue
        problem = kubernetes_names.find_label_value_problem(word.text)
        if problem:
            env.found.report_invalid_name("label value", word, problem)
            good = False
    return good


def _report_pattern(
    env: number_reading.NameEnvironment,
    requirement: syntax_expr.Requirement,
    word: syntax_expr.Value,
) -> None:
    """Report a pattern in a list with values of the pod, which are compared exactly."""
    subject = env.found.get_text_on_one_line(requirement.subject.span)
    operator = "!=" if requirement.operator == "NotIn" else "="
    env.found.add_error(
        "PS108",
        f"the pattern `{word.text}` cannot be in one list with a value of the pod",
        word.span,
        help=f'write a requirement of its own: `{subject} {operator} "{word.text}"`',
    )


def _check_pod_value(
    env: number_reading.NameEnvironment, written: syntax_expr.PodValue
) -> checked_selector.IncomingPodValue | None:
    """Return the value of the pod; None if an error was reported."""
    name, argument = written.subject.name, written.subject.argument
    if argument is not None:
        if name.text not in vocabulary.POD_VALUE_FUNCTIONS:
            env.found.report_undefined_name("value of a pod", name, vocabulary.POD_VALUE_FUNCTIONS)
            return None
        if name.text == "owner":
            is_wrong = check_owners.report_wrong_argument(env.found, written.subject)
            return None if is_wrong else checked_selector.IncomingPodValue("owner(name)")
        return _check_value_key(env, name.text, argument)
    if not name.quoted and name.text in vocabulary.POD_VALUE_FIELDS:
        return checked_selector.IncomingPodValue(cast("Any", name.text))
    if not name.quoted and name.text in vocabulary.POD_FIELDS:
        env.found.add_error(
            "PS108",
            f"`{name.text}` cannot be compared with a label",
            name.span,
            help=f"fields with one text are {', '.join(sorted(vocabulary.POD_VALUE_FIELDS))}; for "
            f'the label, write `pod("{name.text}")`',
        )
        return None
    check_label_idioms.warn_of_field_like_key(env.found, "pod", name)
    return _check_value_key(env, "label", name)


def _check_value_key(
    env: number_reading.NameEnvironment, kind: str, key: syntax_expr.Value
) -> checked_selector.IncomingPodValue | None:
    problem = kubernetes_names.find_label_key_problem(key.text)
    if problem:
        what = "annotation key" if kind == "annotation" else "label key"
        env.found.report_invalid_name(what, key, problem)
        return None
    return checked_selector.IncomingPodValue(cast("Any", kind), key.text)
