"""Report errors in selectors in the words of kube-scheduler.

The API server rejects most invalid selectors. However, it accepts values of Gt and Lt that are not
integers, and it keeps objects that its older versions accepted. Keys are assumed to be valid.

Sources: apimachinery `pkg/labels/selector.go` (NewRequirement), `meta/v1/helpers.go`
(LabelSelectorAsSelector), component-helpers `scheduling/corev1/nodeaffinity/nodeaffinity.go`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from policysched import int64
from policysched.cluster.objects import objects

NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")
_POD_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_MAX_VALUE_BYTES = 63
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_NO_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '{_VALUE.pattern}')"
)


def find_requirement_errors(requirement: objects.SelectorRequirement, where: str = "") -> list[str]:
    """Return all errors in a requirement with a known operator; `where` is its field path."""
    path = f"{where}.values" if where else "values"
    return [
        *_find_value_count_errors(requirement.operator, requirement.values, path),
        *_find_label_value_errors(requirement.key, requirement.values, path),
    ]


def find_label_selector_error(selector: objects.LabelSelector | None) -> str:
    """Return the first error in a selector of pods or namespaces, or ""."""
    if selector is None:
        return ""
    for key, value in selector.match_labels.items():
        errors = list(_find_label_value_errors(key, (value,), "values"))
        if errors:
            return aggregate_errors(errors)
    for expression in selector.match_expressions:
        if expression.operator not in _POD_OPERATORS:
            return f'"{expression.operator}" is not a valid label selector operator'
        errors = find_requirement_errors(expression)
        if errors:
            return aggregate_errors(errors)
    return ""


def find_node_term_errors(term: objects.NodeSelectorTerm, where: str = "") -> list[str]:
    """Return all errors in a node selector term; `where` is its field path."""
    errors = []
    for i, expression in enumerate(term.match_expressions):
        path = f"{where}.matchExpressions[{i}]"
        if expression.operator in NODE_OPERATORS:
            errors += find_requirement_errors(expression, path)
        else:
            errors.append(_format_unsupported_operator(path, expression.operator, NODE_OPERATORS))
    for i, field in enumerate(term.match_fields):
        path = f"{where}.matchFields[{i}]"
        if field.operator not in FIELD_OPERATORS:
            errors.append(_format_unsupported_operator(path, field.operator, FIELD_OPERATORS))
        elif len(field.values) != 1:
            errors.append(
                _format_invalid_value(f"{path}.values", field.values, "must have one element")
            )
    return errors


def aggregate_errors(errors: Iterable[str]) -> str:
    """Join errors as Kubernetes does: one error as it is, several in brackets, without repeats."""
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def _find_value_count_errors(operator: str, values: Sequence[str], path: str) -> Iterator[str]:
    """Yield errors if the operator does not permit this number of values, or needs integers."""
    match operator:
        case "In" | "NotIn" if not values:
            detail = "for 'in', 'notin' operators, values set can't be empty"
            yield _format_invalid_value(path, values, detail)
        case "Exists" | "DoesNotExist" if values:
            yield _format_invalid_value(
                path, values, "values set must be empty for exists and does not exist"
            )
        case "Gt" | "Lt":
            if len(values) != 1:
                detail = "for 'Gt', 'Lt' operators, exactly one value is required"
                yield _format_invalid_value(path, values, detail)
            for i, value in enumerate(values):
                if int64.parse_int64(value) is None:
                    detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                    yield _format_invalid_value(f"{path}[{i}]", value, detail)
        case _:
            pass


def _find_label_value_errors(key: str, values: Sequence[str], path: str) -> Iterator[str]:
    for i, value in enumerate(values):
        problems = []
        if len(value.encode()) > _MAX_VALUE_BYTES:
            problems.append(f"must be no more than {_MAX_VALUE_BYTES} bytes")
        if _VALUE.fullmatch(value) is None:
            problems.append(_NO_VALUE)
        if problems:
            yield _format_invalid_value(f"{path}[{i}][{key}]", value, "; ".join(problems))


def _format_invalid_value(path: str, value: str | Sequence[str], detail: str) -> str:
    """Format an error like Go's `field.Invalid`, which prints an empty list as null."""
    bad = value if isinstance(value, str) else (list(value) or None)
    shown = json.dumps(bad, ensure_ascii=False, separators=(",", ":"))
    return f"{path}: Invalid value: {shown}: {detail}"


def _format_unsupported_operator(path: str, operator: str, supported: Sequence[str]) -> str:
    known = ", ".join(f'"{name}"' for name in supported)
    return f'{path}.operator: Unsupported value: "{operator}": supported values: {known}'
