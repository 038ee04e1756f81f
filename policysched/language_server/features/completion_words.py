"""Proposals that depend on the words before the cursor: labels, fixed choices, names, series."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from policysched import units
from policysched.lang.parsing import versions
from policysched.lang.syntax import syntax
from policysched.lang.words import vocabulary
from policysched.language_server.features import (
    device_words,
    function_words,
    pod_value_words,
    profile_words,
    proposals,
)
from policysched.language_server.project import programs
from policysched.language_server.words import cursor_contexts, names, word_docs
from policysched.language_server.words import vocabulary as words

_NUMBER_SIGNS = frozenset({"<", "<=", ">", ">="})
_VALUE_SIGNS = frozenset({"=", "==", "!=", "Gt", "Lt"})
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "mode": vocabulary.MODES,
    "prefer": vocabulary.DIRECTIONS,
    "whenUnsatisfiable": vocabulary.WHEN_UNSATISFIABLE,
    "nodeAffinityPolicy": vocabulary.NODE_INCLUSION,
    "nodeTaintsPolicy": vocabulary.NODE_INCLUSION,
    "missing": (*vocabulary.MISSING_ACTIONS, "score"),
    "onOutage": vocabulary.OUTAGE_ACTIONS,
    "from": ("preemption",),
    "preemption": ("never",),
    "normalize": tuple(vocabulary.NORMALIZATIONS),
    "weight": ("1", "10", "50", "100"),
    "version": tuple(str(each) for each in range(versions.FIRST, versions.CURRENT + 1)),
}
"""Word -> all words that can follow it."""
_OWN = frozenset(
    {"as", "policy", "clusterPolicy", "let", "metric", "param", "description", "owner"}
)
"""Words before a name or text that the author chooses freely."""
_BEFORE_LABELS = frozenset({"where", "and", "or", "not", "required", "preferred", "("})
_PARAMS_OF: Mapping[str, str] = {
    **dict.fromkeys(("refresh", "maxAge", "over", "for"), "duration"),
    **dict.fromkeys(("weight", "maxSkew", "minDomains", "minGroups", "maxGroups"), "number"),
    "missing score": "number",
}
"""Word before a constant -> the type of params that can replace the constant."""
_MAX_SHOWN_VALUES = 5
_MAX_SHOWN_LINES = 8
_UNGRANTED = "NoExecute"
"""The taint effect that no policy can tolerate (PS207)."""
_BEFORE_CONDITIONS = ("when", "until", "and", "or", "not", "score")
_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


def expects_only_names(context: cursor_contexts.CursorContext) -> bool:
    """Return whether only names or certain fixed words are valid at the cursor."""
    is_before_own = context.get_preceding_word() in _OWN and not _is_after_label_key(context)
    return bool(_list_choices(context)) or is_before_own


def _list_choices(context: cursor_contexts.CursorContext) -> Sequence[str]:
    """Return all words that can stand at the cursor, or () if others can, too."""
    last = context.get_preceding_word()
    is_complete = last == "preemption" and context.statement == "protect"
    return () if is_complete or _is_after_label_key(context) else _CHOICES.get(last, ())


def _is_after_label_key(context: cursor_contexts.CursorContext) -> bool:
    """Return whether the previous word is a label key, even if it equals a keyword."""
    return context.get_preceding_word(2) in _BEFORE_LABELS


def propose_expected_words(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield the proposals that the words before the cursor determine."""
    last = context.get_preceding_word()
    if expects_only_names(context):
        yield from _propose_value_words(_list_choices(context))
    elif (
        last == ":" and context.item in ("metric", "param") and context.get_preceding_word(2) != ")"
    ):
        yield from _propose_units_or_types(context)
    elif context.item == "profile":
        yield from profile_words.propose_profile_words(program, context)
    elif context.statement == "disable":
        yield from _propose_rule_names(program)
    elif last == "over" or context.get_preceding_word(2) == "over":
        yield from _propose_window_arguments(context)
    else:
        yield from _propose_cluster_words(program, context)


def _propose_cluster_words(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield words that usually come from a cluster: labels, namespaces, taints, metric names."""
    last = context.get_preceding_word()
    if last == "topologyKey":
        yield from _propose_topology_keys(program)
    elif last in ("matchLabelKeys", "mismatchLabelKeys") or _is_in_parentheses_after(
        context, "LabelKeys"
    ):
        yield from _propose_domain_labels(program, "pod")
    elif last in ("namespace", "namespaces") or _is_in_parentheses_after(
        context, "namespace", "namespaces"
    ):
        yield from proposals.propose_quoted_words(
            program.completion_words.namespaces, "value", "namespace"
        )
    elif _is_in_taint_pattern(context):
        yield from _propose_taints(program, context)
    elif context.domain is not None:
        yield from _propose_selector_words(program, context)
    elif "NAME" in context.accepts and (
        "LPAR" not in context.accepts or _is_in_normalisation_arguments(context)
    ):
        yield from _propose_constants(program, context)
    elif "NAME" in context.accepts:
        yield from _propose_expression_words(program, context)


def _propose_value_words(found: Iterable[str]) -> Iterator[proposals.CompletionProposal]:
    for word in found:
        yield proposals.CompletionProposal(word, "value", doc=word_docs.describe_word(word), rank=1)


def _is_in_parentheses_after(context: cursor_contexts.CursorContext, *ends: str) -> bool:
    """Return whether the cursor is in parentheses after a word with one of these suffixes."""
    opening, _ = context.enclosing
    return bool(opening) and any(opening == end or opening.endswith(end) for end in ends)


# ---------------------------------------------------------------------------- selectors


def _propose_selector_words(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield the labels, values or params that fit the position in a selector."""
    opening, key = context.enclosing
    function = function_words.find_function(context)
    if pod_value_words.find_pod_value_function(context):
        yield from _propose_pod_values(program, context)
    elif function:
        domain = function_words.FUNCTIONS[function]
        if opening == "owner" or domain in _list_selector_domains(context):
            facts = function_words.list_fact_words(program.completion_words, context)
            for word, meaning in facts:
                yield from proposals.propose_quoted_words((word,), "value", meaning)
    elif opening in ("requests", "limits"):
        yield from _propose_resources(program, context)
    elif context.get_preceding_word() in _NUMBER_SIGNS or (
        context.get_preceding_word() in _VALUE_SIGNS and _is_after_pod_amount(context)
    ):
        yield from _propose_params_of_pod_amount(program, context)
    elif context.get_preceding_word() in _VALUE_SIGNS:
        yield from _propose_label_values(program, context, context.get_preceding_word(2))
    elif opening in ("In", "in", "NotIn", "notIn", "notin"):
        yield from _propose_label_values(program, context, key)
    elif "WORD" in context.accepts or "NAME" in context.accepts:
        yield from _propose_label_keys(program, context)


def _propose_pod_values(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield the labels, fields and functions of `pod(…)` as a value, or their arguments."""
    match pod_value_words.find_pod_value_function(context):
        case "namespaceLabel":
            yield from _propose_domain_labels(program, "namespace")
        case "owner":
            yield from proposals.propose_quoted_words(
                vocabulary.OWNER_FIELDS, "value", "of the owner"
            )
        case "pod":
            yield from _propose_domain_labels(program, "pod")
            for name, doc in vocabulary.POD_VALUE_FIELDS.items():
                yield proposals.CompletionProposal(name, "field", doc, rank=3)
            for name, doc in vocabulary.POD_VALUE_FUNCTIONS.items():
                yield proposals.CompletionProposal(name, "function", doc, rank=4)
        case _:
            pass


def _is_after_pod_amount(context: cursor_contexts.CursorContext) -> bool:
    """Return whether a numeric function or field precedes the sign."""
    fields = (
        vocabulary.FIELDS[domain].get(context.get_preceding_word(2))
        for domain in _list_selector_domains(context)
    )
    is_number = any(field is not None and field.kind == "number" for field in fields)
    return is_number or (
        context.get_preceding_word(2) == ")"
        and context.get_preceding_word(5) in ("requests", "limits")
    )


def _propose_params_of_pod_amount(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield the params with which a number of a pod can be compared; labels allow only literals."""
    if not _is_after_pod_amount(context):
        return
    resource = context.get_preceding_word(3) if context.get_preceding_word(2) == ")" else ""
    unit = units.NAMES.get(units.find_resource_unit(resource), "") if resource else "number"
    for each in program.name_index.list_definitions("param"):
        if isinstance(each.node, syntax.Param) and each.node.type.text == unit:
            doc = format_definition(program, each)
            yield proposals.CompletionProposal(each.symbol.name, "name", "param", doc, rank=1)


def _propose_label_keys(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield the labels, fields and functions of the selected objects, and selector lets."""
    for domain in _list_selector_domains(context):
        yield from _propose_domain_labels(program, domain)
        for name, field in vocabulary.FIELDS[domain].items():
            yield proposals.CompletionProposal(
                name, "field", f"field of the {domain}", field.doc, rank=3
            )
        for name, (domains, doc) in vocabulary.SELECTOR_FUNCTIONS.items():
            if domain in domains:
                yield proposals.CompletionProposal(name, "function", doc, rank=4)
    for each in program.name_index.list_definitions("let"):
        if isinstance(each.node, syntax.LetSelector):
            yield proposals.CompletionProposal(each.symbol.name, "name", "let", rank=2)


def _list_selector_domains(context: cursor_contexts.CursorContext) -> tuple[words.Domain, ...]:
    if context.domain == "any":
        return ("node", "pod", "namespace")
    return (cast("words.Domain", context.domain),)


def _propose_domain_labels(
    program: programs.PolicyProgram, domain: words.Domain
) -> Iterator[proposals.CompletionProposal]:
    """Yield the labels of one kind of object, and well-known labels of nodes."""
    labels = program.completion_words.get_labels(domain)
    for key, values in labels.items():
        if key in vocabulary.FIELDS[domain]:
            continue  # already proposed as a field
        shown = ", ".join(sorted(values)[:_MAX_SHOWN_VALUES])
        shown += ", …" if len(values) > _MAX_SHOWN_VALUES else ""
        yield proposals.CompletionProposal(
            proposals.quote_word(key), "label", f"label of {domain}s", f"Values: {shown}", rank=1
        )
    if domain == "node":
        for key in words.WELL_KNOWN_NODE_LABELS:
            if key not in labels:
                yield proposals.CompletionProposal(
                    key, "label", "well-known label of nodes", rank=2
                )


def _propose_label_values(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext, key: str
) -> Iterator[proposals.CompletionProposal]:
    """Yield the values of a label or field, from the cluster and from the language."""
    key = key.strip('"')
    for domain in _list_selector_domains(context):
        values = program.completion_words.get_labels(domain).get(key, frozenset())
        yield from proposals.propose_quoted_words(values, "value", f"value of {key}")
        if key in vocabulary.FIELDS[domain]:
            yield from proposals.propose_quoted_words(
                vocabulary.FIELDS[domain][key].values, "value", key
            )


def _propose_topology_keys(
    program: programs.PolicyProgram,
) -> Iterator[proposals.CompletionProposal]:
    """Yield the labels of nodes, each with its number of values; well-known labels rank first."""
    labels = program.completion_words.get_labels("node")
    for key in {*labels, *words.WELL_KNOWN_NODE_LABELS}:
        count = len(labels.get(key, ()))
        is_usual = key in words.WELL_KNOWN_NODE_LABELS
        detail = f"{count} domain{'' if count == 1 else 's'}" if count else "well-known label"
        yield proposals.CompletionProposal(
            proposals.quote_word(key), "label", detail, rank=1 if is_usual else 2
        )


def _is_in_taint_pattern(context: cursor_contexts.CursorContext) -> bool:
    opening, _ = context.enclosing
    return context.statement == "tolerate" or opening == "tainted"


def _propose_taints(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield taints of the cluster, or the effects after a colon."""
    is_granted = context.statement == "tolerate"
    if context.get_preceding_word() == ":":
        effects = vocabulary.TAINT_EFFECTS
        yield from _propose_value_words(
            each for each in effects if not (is_granted and each == _UNGRANTED)
        )
    elif context.get_preceding_word() in ("tolerate", ",", "("):
        yield from (
            proposals.CompletionProposal(each, "value", "taint of nodes", rank=1)
            for each in program.completion_words.taints
            if not (is_granted and each.endswith(f":{_UNGRANTED}"))
        )


# ---------------------------------------------------------------------------- expressions


def _propose_expression_words(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield resources, labels, names or functions that fit the position in an expression."""
    if context.enclosing[0] in vocabulary.TAKING_NAMES:
        yield from _propose_taken_names(program, context)
        return
    for each in program.name_index.list_definitions("metric", "let", "param"):
        if _is_usable_in_expression(each.node) and _can_item_read_definition(
            context.item, each.node
        ):
            doc = format_definition(program, each)
            yield proposals.CompletionProposal(
                each.symbol.name, "name", each.symbol.kind, doc, rank=1
            )
    yield from _propose_functions(context)
    yield from _propose_fields(context)
    if context.get_preceding_word() == "score":
        for name, doc in vocabulary.STRATEGIES.items():
            yield proposals.CompletionProposal(name, "function", doc, rank=2)


def _propose_taken_names(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield the resources, labels or other names that the function at the cursor takes."""
    function, _ = context.enclosing
    if function in device_words.FUNCTIONS:
        yield from device_words.propose_device_names(program.completion_words, function)
    elif function == "annotation":
        for key, _ in function_words.list_fact_words(program.completion_words, context):
            text = proposals.quote_expression_name(key)
            yield proposals.CompletionProposal(text, "value", "annotation", rank=1)
    elif function == "label":
        domain: words.Domain = "cluster" if context.item == "clusterPolicy" else "node"
        for each in _propose_domain_labels(program, domain):
            yield dataclasses.replace(each, text=proposals.quote_expression_name(each.text))
    else:
        yield from _propose_resources(program, context)


def _propose_resources(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield the resources that the function at the cursor can read."""
    resources = {*_RESOURCES, *program.completion_words.resources}
    if context.enclosing[0] == "requests" and context.item != "clusterPolicy":
        resources.add(units.STORAGE)
    yield from proposals.propose_quoted_words(
        (each for each in resources if each.isidentifier()), "value", "resource"
    )
    quoted = (each for each in resources if not each.isidentifier())
    yield from (
        proposals.CompletionProposal(f'"{each}"', "value", "resource", rank=2) for each in quoted
    )


def _propose_fields(at: cursor_contexts.CursorContext) -> Iterator[proposals.CompletionProposal]:
    known = {name: doc for name, (_, doc) in vocabulary.EXPRESSION_FIELDS.items()}
    if at.item != "clusterPolicy" and at.get_preceding_word() in _BEFORE_CONDITIONS:
        known |= vocabulary.ELAPSED_TIMES
    for name, doc in known.items():
        yield proposals.CompletionProposal(name, "field", doc, rank=3)


def _propose_functions(
    context: cursor_contexts.CursorContext,
) -> Iterator[proposals.CompletionProposal]:
    misplaced = device_words.list_misplaced_functions(context)
    for name, doc in vocabulary.FUNCTIONS.items():
        if name not in misplaced:
            yield proposals.CompletionProposal(name, "function", doc, rank=3)
    if context.item != "clusterPolicy":
        doc = word_docs.describe_word("count", context.statement)
        yield proposals.CompletionProposal("count", "function", doc, rank=3)


def _is_usable_in_expression(node: object) -> bool:
    """Return whether the name of a definition can be part of an expression."""
    is_string = isinstance(node, syntax.Param) and node.type.text == "string"
    return not is_string and not isinstance(node, syntax.LetSelector)


def _can_item_read_definition(item: str, node: object) -> bool:
    """Return whether an item can read a definition: a metric is for nodes or for clusters."""
    if not isinstance(node, syntax.Metric) or item not in ("policy", "clusterPolicy"):
        return True
    is_of_clusters = any(option.keyword == "cluster" for option in node.options)
    return is_of_clusters == (item == "clusterPolicy")


def _is_in_normalisation_arguments(context: cursor_contexts.CursorContext) -> bool:
    """Return whether the cursor is in the arguments of a normalisation, which must be constants."""
    opening, before = context.enclosing
    return before == "normalize" and opening in vocabulary.NORMALIZATIONS


def _propose_constants(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield params for a place that requires a constant, limited to the unit if it is known."""
    kinds = _PARAMS_OF.get(
        context.get_preceding_word(),
        _PARAMS_OF.get(f"{context.get_preceding_word(2)} {context.get_preceding_word()}"),
    )
    for each in program.name_index.list_definitions("param"):
        kind = each.node.type.text if isinstance(each.node, syntax.Param) else ""
        if kind == kinds or (kinds is None and kind == _find_enclosing_metric_unit(context)):
            doc = format_definition(program, each)
            yield proposals.CompletionProposal(each.symbol.name, "name", "param", doc, rank=1)


def _find_enclosing_metric_unit(context: cursor_contexts.CursorContext) -> str:
    """Return the unit of the metric around the cursor, or "" outside a metric."""
    texts = [each.text for each in context.before]
    return texts[3] if context.item == "metric" and len(texts) > 3 else ""  # noqa: PLR2004 - `metric NAME : UNIT`


def format_definition(program: programs.PolicyProgram, occurrence: names.NameOccurrence) -> str:
    """Return the first lines of a definition as Markdown, or "" for a use of the name."""
    if occurrence.node is None:
        return ""
    written = program.check_result.texts[occurrence.span.file].slice(occurrence.node.span)
    lines = written.splitlines()
    shown = "\n".join(lines[:_MAX_SHOWN_LINES]) + ("\n…" if len(lines) > _MAX_SHOWN_LINES else "")
    return f"```policy\n{shown}\n```"


def _propose_units_or_types(
    context: cursor_contexts.CursorContext,
) -> Iterator[proposals.CompletionProposal]:
    known = vocabulary.METRIC_UNITS if context.item == "metric" else vocabulary.PARAM_TYPES
    yield from _propose_value_words(known)


def _propose_window_arguments(
    context: cursor_contexts.CursorContext,
) -> Iterator[proposals.CompletionProposal]:
    if context.get_preceding_word() == "over":
        yield from _propose_value_words(("1m", "5m", "10m"))
    else:
        yield from _propose_value_words(vocabulary.WINDOW_FUNCTIONS)


# ---------------------------------------------------------------------------- profiles, strings


def _propose_rule_names(program: programs.PolicyProgram) -> Iterator[proposals.CompletionProposal]:
    for each in program.name_index.list_definitions("rule"):
        policy, _, rule = each.symbol.name.partition("/")
        yield proposals.CompletionProposal(f"{policy}.{rule}", "name", "rule", rank=1)


def propose_string_content(
    program: programs.PolicyProgram, context: cursor_contexts.CursorContext
) -> Iterator[proposals.CompletionProposal]:
    """Yield the proposals for text between quotes."""
    if context.item == "import":
        yield from (
            proposals.CompletionProposal(text.key, "text", "text of the same folder")
            for text in program.texts
        )
