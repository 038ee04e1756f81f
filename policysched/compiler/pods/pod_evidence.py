"""The facts of a pod that decide whether a selector on pods matches: `pod app=web`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policysched import amounts, units
from policysched.cluster.pods import pod_requests, pod_shape
from policysched.compiler.pods import pod_fields, pod_predicates
from policysched.lang.checked import checked_selector, comparisons


def selector_parts(
    selector: checked_selector.Selector, *, wanted: bool, shape: pod_shape.PodShape
) -> Iterator[str]:
    """Yield the facts of pods of a shape that make a selector match, or not as is `wanted`."""
    if pod_predicates.lower(selector)(shape) is not wanted:
        return
    match selector:
        case (
            checked_selector.SelectorConjunction(operands=operands)
            | checked_selector.SelectorDisjunction(operands=operands)
        ):
            for operand in operands:
                yield from selector_parts(operand, wanted=wanted, shape=shape)
        case checked_selector.SelectorNegation(operand=operand):
            yield from selector_parts(operand, wanted=not wanted, shape=shape)
        case checked_selector.LabelRequirement(key=key):
            yield _pair("label", key, shape.labels)
        case checked_selector.AnnotationRequirement(key=key):
            yield _pair("annotation", key, shape.annotations)
        case checked_selector.FieldRequirement(field=field):
            values = pod_fields.values(shape, field)  # type: ignore[arg-type]  # fields of pods, as the checker grants
            yield f"pod {field} {', '.join(filter(None, values)) or 'unset'}"
        case checked_selector.NumberRequirement():
            yield _comparison(selector, shape, wanted=wanted)
        case _:
            return


def _pair(noun: str, key: str, having: Mapping[str, str]) -> str:
    value = having.get(key)
    if value is None:
        return f"pod without {noun} {key}"
    return f"pod {key}={value}" if noun == "label" else f"pod {noun} {key}={value}"


def _comparison(
    required: checked_selector.NumberRequirement, shape: pod_shape.PodShape, *, wanted: bool
) -> str:
    comparator = required.comparator if wanted else comparisons.NEGATED[required.comparator]
    resource = required.resource
    if resource is None:
        return f"priority {shape.priority} {comparator} {required.value:.9g}"
    name = resource if resource.isidentifier() else f'"{resource}"'
    found: float | None = shape.get_requested_amount(resource)
    if required.amount == "limits":
        found = pod_requests.get_resource_limit(shape.limits, resource)
    if found is None:
        return f"no limits({name})"
    unit = units.find_resource_unit(resource)
    compared = f"{_text(found, unit)} {comparator} {_text(required.value, unit)}"
    return f"{required.amount}({name}) {compared}"


def _text(value: float, unit: units.Unit) -> str:
    return amounts.format_policy_amount(
        value / units.CORES_SCALE if unit == units.CORES else value, unit
    )
