"""Check the scope of a policy, and the sets of pods and namespaces of its rules."""

from __future__ import annotations

from collections.abc import Sequence

from policysched.lang import source
from policysched.lang.checked import checked_selector
from policysched.lang.checking import clauses, number_reading
from policysched.lang.checking.selectors import check_compared_labels, check_selectors, param_values
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import glob_patterns, kubernetes_names, vocabulary


def check_pod_scope(
    node: syntax.Scope, env: number_reading.NameEnvironment
) -> checked_selector.PolicyPodScope | None:
    """Return the pods or resources to which a policy applies; None if an error was reported."""
    namespaces = None
    if node.keyword == "resources" and node.namespaces and node.namespaces.selector is not None:
        env.found.add_error(
            "PS108",
            "labels of namespaces are not known in a clusterPolicy",
            node.namespaces.span,
            help="name the namespaces: `in namespace (prod, staging)`",
        )
        return None
    if node.namespaces is not None:
        namespaces = _make_namespace_set(env, node.namespaces.names, node.namespaces.selector)
        if namespaces is None:
            return None
    where: checked_selector.Selector | None = checked_selector.EVERYTHING
    if node.where is not None:
        domain: vocabulary.Domain = "resource" if node.keyword == "resources" else "pod"
        where = check_selectors.SelectorChecker(env, domain).check_selector(node.where)
    return None if where is None else checked_selector.PolicyPodScope(namespaces, where)


def check_pod_selection(
    node: syntax_expr.PodSet | None, own: clauses.ClauseSet
) -> checked_selector.PodSelection | None:
    """Return the set of pods of a statement or of `count`; None if an error was reported.

    A statement without a set is about `self`.
    """
    selector: checked_selector.Selector | None = None
    compared: tuple[checked_selector.ComparedLabel, ...] | None = ()
    kind = "self" if node is None else node.kind
    if node is not None and kind == "pods":
        selector = checked_selector.EVERYTHING
        if node.where is not None:
            selector, compared = _check_counted_pods(own.env, node.where)
    keys = check_label_keys(own, "matchLabelKeys")
    other_keys = check_label_keys(own, "mismatchLabelKeys")
    is_fine, namespaces = _check_namespaces_clause(own)
    if keys is None or other_keys is None or not is_fine or (kind == "pods" and selector is None):
        return None
    if compared is None:
        return None
    return checked_selector.PodSelection(
        "where" if kind == "pods" else kind, selector, namespaces, keys, other_keys, compared
    )


def _check_counted_pods(
    env: number_reading.NameEnvironment, where: syntax_expr.Selector
) -> tuple[checked_selector.Selector | None, tuple[checked_selector.ComparedLabel, ...] | None]:
    """Return the selector of counted pods, and its requirements with values of the incoming pod.

    Such requirements are separate: whether they are met depends on two pods. Each result is None
    if an error was reported in it.
    """
    parts = where.operands if isinstance(where, syntax_expr.SelectorAnd) else (where,)
    compared, rest = [], []
    for part in parts:
        if isinstance(part, syntax_expr.Requirement) and part.pod_values:
            compared.append(check_compared_labels.check_compared_label(env, part, "pod"))
        else:
            rest.append(part)
    good = tuple(each for each in compared if each is not None)
    for label in good:
        _report_namespace_label(env, label)
    is_fine = len(good) == len(compared) and not any(map(_reads_namespace_label, good))
    return _check_joined(env, rest, where.span), good if is_fine else None


def _check_joined(
    env: number_reading.NameEnvironment, parts: Sequence[syntax_expr.Selector], span: source.Span
) -> checked_selector.Selector | None:
    """Return the selector that parts joined by `and` form; the limit on its size covers all."""
    if not parts:
        return checked_selector.EVERYTHING
    joined = parts[0] if len(parts) == 1 else syntax_expr.SelectorAnd(span, tuple(parts))
    return check_selectors.SelectorChecker(env, "pod").check_selector(joined)


def _reads_namespace_label(label: checked_selector.ComparedLabel) -> bool:
    return any(value.kind == "namespaceLabel" for value in label.pod_values)


def _report_namespace_label(
    env: number_reading.NameEnvironment, label: checked_selector.ComparedLabel
) -> None:
    """Report a comparison of pods with a label of a namespace, which changes without the pods."""
    if _reads_namespace_label(label):
        env.found.add_error(
            "PS108",
            "labels of pods cannot be compared with a label of the namespace",
            label.span,
            help="select namespaces with `namespaceSelector`, or compare with a label of the pod",
        )


def check_topology_key(own: clauses.ClauseSet) -> tuple[bool, str | None]:
    """Return whether the topologyKey is valid or absent, and the key."""
    clause = own.get_clause("topologyKey", syntax_expr.WordClause)
    if clause is None:
        return True, None
    problem = kubernetes_names.find_label_key_problem(clause.word.text)
    if problem:
        own.env.found.add_error(
            "PS107", f"the label key `{clause.word.text}` {problem}", clause.word.span
        )
    return not problem, clause.word.text


def check_label_keys(own: clauses.ClauseSet, keyword: str) -> tuple[str, ...] | None:
    """Return the label keys of a clause, sorted; None if an error was reported."""
    clause = own.get_words_clause(keyword)
    if clause is None:
        return ()
    good = True
    for word in clause.words:
        problem = kubernetes_names.find_label_key_problem(word.text)
        if problem:
            own.env.found.add_error("PS107", f"the label key `{word.text}` {problem}", word.span)
            good = False
    return tuple(sorted({word.text for word in clause.words})) if good else None


def _check_namespaces_clause(
    own: clauses.ClauseSet,
) -> tuple[bool, checked_selector.NamespaceSet | None]:
    """Return whether the clauses are valid, and the namespaces; None for the pod's namespace."""
    names = own.get_words_clause("namespaces")
    selector = own.get_clause("namespaceSelector", syntax_expr.SelectorClause)
    if names is None and selector is None:
        return True, None
    if names is not None and names.is_all:
        return True, checked_selector.NamespaceSet((), checked_selector.EVERYTHING)
    if names is not None and names.of_pod is not None:
        return _is_own_namespace(own, names.of_pod, selector), None
    words = names.words if names is not None else ()
    found = _make_namespace_set(own.env, words, selector.selector if selector is not None else None)
    return found is not None, found


def _is_own_namespace(
    own: clauses.ClauseSet,
    value: syntax_expr.PodValue,
    selector: syntax_expr.SelectorClause | None,
) -> bool:
    """Return whether a value is `pod(namespace)`, with no other namespaces; report the rest."""
    name = value.subject.name
    is_namespace = value.subject.argument is None and not name.quoted and name.text == "namespace"
    if not is_namespace:
        own.env.found.add_error(
            "PS108",
            f"`{own.env.found.get_text_on_one_line(value.span)}` is not a namespace",
            value.span,
            help="write `namespaces pod(namespace)` for the namespace of the incoming pod",
        )
    elif selector is not None:
        own.env.found.add_error(
            "PS108",
            "`namespaces pod(namespace)` and `namespaceSelector` cannot be combined",
            selector.span,
            help="keep one of them",
        )
    return is_namespace and selector is None


def _make_namespace_set(
    env: number_reading.NameEnvironment,
    names: Sequence[syntax_expr.Value],
    selector: syntax_expr.Selector | None,
) -> checked_selector.NamespaceSet | None:
    """Return the set of namespaces; report invalid names and selectors, and return None."""
    values = param_values.replace_params(env, names)
    good = values is not None
    names = [each for each in values or () if isinstance(each, syntax_expr.Value)]
    for name in names:
        problem = glob_patterns.find_pattern_problem(
            kubernetes_names.find_dns_label_problem, name.text
        )
        if problem:
            is_pattern = glob_patterns.is_pattern(name.text)
            ours = "" if is_pattern else kubernetes_names.convert_to_dns_label(name.text)
            env.found.report_invalid_name("namespace", name, problem, ours)
            good = False
    checked = None
    if selector is not None:
        checked = check_selectors.SelectorChecker(env, "namespace").check_selector(selector)
        good = good and checked is not None
    listed = tuple(sorted({name.text for name in names}))
    return checked_selector.NamespaceSet(listed, checked) if good else None
