"""Check the keys, operators, values and fields in selectors.

The same checker handles all kinds of objects (`vocabulary.Domain`). Unquoted reserved names are
fields of the object, all other keys are labels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

from policysched import int64, units
from policysched.lang import source, text_limits
from policysched.lang.checked import checked_selector
from policysched.lang.checking import number_reading
from policysched.lang.checking.selectors import (
    check_label_idioms,
    check_node_facts,
    check_owners,
    check_resource_names,
    check_taints,
    field_values,
    param_values,
    requirement_operators,
    whole_numbers,
)
from policysched.lang.diagnostics import fixes
from policysched.lang.foreign import foreign_words
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import glob_patterns, kubernetes_names, numerals, vocabulary


class SelectorChecker:
    """Checks selectors for one kind of object.

    Args:
        env: resolves names, and collects diagnostics.
        domain: pod, node, namespace, cluster or resource.
    """

    def __init__(self, env: number_reading.NameEnvironment, domain: vocabulary.Domain) -> None:
        self._env = env
        self._found = env.found
        self._domain = domain
        self._depth = 0
        self._nodes = 0
        self._is_full = False
        self._joined_values: list[syntax_expr.Selector] = []

    def check_selector(self, selector: syntax_expr.Selector) -> checked_selector.Selector | None:
        """Return the checked selector; None if an error was reported."""
        self._depth, self._nodes, self._is_full = 0, 0, False
        return self._check_subselector(selector)

    def _check_subselector(
        self, selector: syntax_expr.Selector
    ) -> checked_selector.Selector | None:
        """Check a selector within the limits on size and depth."""
        self._nodes += 1
        if (
            self._nodes > text_limits.MAX_EXPANDED_NODES
            or self._depth > text_limits.MAX_EXPANDED_DEPTH
        ):
            self._report_too_large(selector.span)
            return None
        self._depth += 1
        try:
            return self._check_by_node_type(selector)
        finally:
            self._depth -= 1

    def _report_too_large(self, span: source.Span) -> None:
        """Report once that the selector exceeds a limit after lets are expanded."""
        if not self._is_full:
            self._is_full = True
            self._found.add_error(
                "PS004",
                "this selector is too large after its lets are expanded",
                span,
                help=f"the limits are {text_limits.MAX_EXPANDED_NODES} parts and "
                f"{text_limits.MAX_EXPANDED_DEPTH} levels of nesting",
            )

    def _check_by_node_type(
        self, selector: syntax_expr.Selector
    ) -> checked_selector.Selector | None:
        """Check a selector with the method for its node type."""
        match selector:
            case syntax_expr.SelectorAnd(operands=operands):
                checked = self._check_operands(operands)
                return None if checked is None else checked_selector.SelectorConjunction(checked)
            case syntax_expr.SelectorOr(operands=operands):
                self._report_joined_values(operands)
                checked = self._check_operands(operands)
                return None if checked is None else checked_selector.SelectorDisjunction(checked)
            case syntax_expr.SelectorNot(operand=operand):
                inner = self._check_subselector(operand)
                return None if inner is None else checked_selector.SelectorNegation(inner)
            case syntax_expr.SelectorRef():
                return self._check_reference(selector)
            case syntax_expr.Tainted():
                return self._check_taint_test(selector)
            case syntax_expr.Requirement():
                return self._check_requirement(selector)

    def _report_joined_values(self, operands: tuple[syntax_expr.Selector, ...]) -> None:
        """Report `disk = ssd or nvme`, where `nvme` is a value and not a requirement."""
        first, rest = operands[0], operands[1:]
        if not isinstance(first, syntax_expr.Requirement) or first.operator != "=":
            return
        names = [each.name for each in rest if isinstance(each, syntax_expr.SelectorRef)]
        defined = self._env.names | self._env.lets.keys() | self._env.silent_names
        if len(names) < len(rest) or any(name.text in defined for name in names):
            return
        self._joined_values += rest
        values = ", ".join(
            self._found.get_text_on_one_line(each.span) for each in (first.values[0], *names)
        )
        meant = f"{self._found.get_text_on_one_line(first.subject.span)} In ({values})"
        whole = dataclasses.replace(first.span, end=operands[-1].span.end)
        self._found.add_error(
            "PS104",
            f"there is no selector `{names[0].text}`",
            names[0].span,
            help=f"write `{meant}`",
            fix=fixes.make_replacement_fix(whole, meant),
        )

    def _check_operands(
        self, operands: tuple[syntax_expr.Selector, ...]
    ) -> tuple[checked_selector.Selector, ...] | None:
        checked = [self._check_subselector(operand) for operand in operands]
        if self._nodes > text_limits.MAX_EXPANDED_NODES:
            return None
        good = tuple(each for each in checked if each is not None)
        return good if len(good) == len(checked) else None

    def _check_reference(self, ref: syntax_expr.SelectorRef) -> checked_selector.Selector | None:
        """Resolve a name to a let selector; report other names."""
        name = ref.name
        let = self._env.lets.get(name.text)
        if isinstance(let, syntax.LetSelector):
            return self._check_subselector(let.selector)
        if let is not None or name.text in self._env.param_names | self._env.metric_names:
            self._found.add_error(
                "PS102",
                f"`{name.text}` is a number, not a selector",
                name.span,
                help=f"for a label of that name, write `{name.text} Exists`",
            )
        elif name.text not in self._env.silent_names:
            if ref in self._joined_values:
                return None
            selectors = [
                key for key, let in self._env.lets.items() if isinstance(let, syntax.LetSelector)
            ]
            self._found.report_undefined_name(
                "selector",
                name,
                selectors,
                instead=foreign_words.LITERALS.get(name.text.lower())
                or f"for a label, write `{name.text} Exists` or `{name.text} = value`",
            )
        return None

    def _check_taint_test(
        self, tainted: syntax_expr.Tainted
    ) -> checked_selector.TaintRequirement | None:
        """Check `tainted(…)`, which is valid only for nodes and clusters."""
        if self._domain not in ("node", "cluster"):
            self._found.add_error(
                "PS108",
                f"a {self._domain} has no taints",
                tainted.span,
                help="test taints in nodeAffinity or `node(…)`; in a clusterPolicy, in "
                "clusterAffinity or `cluster(…)`",
            )
            return None
        pattern = check_taints.check_taint_pattern(
            self._env, tainted.pattern, vocabulary.TAINT_EFFECTS
        )
        return None if pattern is None else checked_selector.TaintRequirement(pattern, tainted.span)

    # ------------------------------------------------------------------------ requirements

    def _check_requirement(
        self, requirement: syntax_expr.Requirement
    ) -> checked_selector.Selector | None:
        """Check a requirement on a function, field or label, depending on its subject."""
        values = param_values.replace_params(
            self._env, requirement.values, is_list=requirement.operator in ("In", "NotIn")
        )
        if values is None:
            return None
        requirement = dataclasses.replace(requirement, values=values)
        if requirement.pod_values:
            self._report_pod_value(requirement.pod_values[0])
            return None
        subject = requirement.subject
        if subject.argument is not None:
            return self._check_function_requirement(requirement, subject.argument)
        field = None
        if not subject.name.quoted:
            field = vocabulary.FIELDS[self._domain].get(subject.name.text)
        if field is not None:
            return self._check_field_requirement(requirement, field)
        check_label_idioms.warn_of_field_like_key(self._found, self._domain, subject.name)
        check_label_idioms.warn_of_null_value(self._found, requirement)
        return self._check_label_requirement(
            requirement, subject.name, "label", checked_selector.LabelRequirement
        )

    def _report_pod_value(self, value: syntax_expr.PodValue) -> None:
        """Report a value of the pod; `check_compared_labels` handles those that are allowed."""
        what = {"pod": "pods", "namespace": "namespaces", "resource": "resources"}
        self._found.add_error(
            "PS108",
            f"`{self._found.get_text_on_one_line(value.span)}` cannot be used in a selector of "
            f"{what.get(self._domain, f'{self._domain}s')}",
            value.span,
            help="a value of the pod is allowed in `nodeAffinity`, in `node(…)`, and in "
            "`pods where …`, there joined with the other parts by `and`",
        )

    def _check_function_requirement(
        self, requirement: syntax_expr.Requirement, argument: syntax_expr.Value
    ) -> checked_selector.Selector | None:
        """Check a requirement on `requests(…)`, `annotation(…)` or another function."""
        name = requirement.subject.name
        known = [
            key
            for key, (domains, _) in vocabulary.SELECTOR_FUNCTIONS.items()
            if self._domain in domains
        ]
        if name.text not in known and self._report_expression_function(requirement, argument):
            return None
        if name.text not in known:
            homes = vocabulary.SELECTOR_FUNCTIONS.get(name.text, ((), ""))[0]
            objects = ", ".join(f"{home}s" for home in homes)
            advice = f"`{name.text}` is a function of selectors on {objects}" if homes else ""
            self._found.report_undefined_name(
                f"{self._domain} function", name, known, instead=advice
            )
            return None
        if name.text == "condition":
            return check_node_facts.check_condition_requirement(self._found, requirement, argument)
        if name.text == "nodeInfo":
            return check_node_facts.check_version_requirement(self._found, requirement, argument)
        if name.text == "owner":
            return self._check_owner_requirement(requirement, argument)
        if name.text in ("requests", "limits"):
            return self._check_amount_requirement(requirement, argument)
        return self._check_label_requirement(
            requirement, argument, "annotation", checked_selector.AnnotationRequirement
        )

    def _report_expression_function(
        self, requirement: syntax_expr.Requirement, argument: syntax_expr.Value
    ) -> bool:
        """Report a function that is only valid in expressions; return whether it was reported."""
        name = requirement.subject.name
        if name.text not in vocabulary.FUNCTIONS or name.text == "annotation":
            return False
        written = self._found.get_text_on_one_line(requirement.span)
        advice = f"write a separate statement: `reject when not ({written})`"
        span = requirement.span
        if name.text == "label":
            advice, span = f"write `{argument.text}`", requirement.subject.span
        self._found.add_error(
            "PS104",
            f"there is no {self._domain} function `{name.text}`",
            span,
            notes=(f"`{name.text}` is only allowed in the expressions of `reject` and `score`",),
            help=advice,
        )
        return True

    def _check_label_requirement(
        self,
        requirement: syntax_expr.Requirement,
        key: syntax_expr.Value,
        what: str,
        make: Callable[..., Any],
    ) -> Any | None:  # noqa: ANN401 - the result type of `make`
        """Check a requirement on a label or annotation; both have the same operators."""
        good = self._check_name_validity(
            key, f"{what} key", kubernetes_names.find_label_key_problem(key.text)
        )
        bound = self._check_bound(requirement)
        if bound is not None:
            operator, value = bound
            return make(key.text, operator, (value,), requirement.span) if value and good else None
        if what == "label":
            for value_word in requirement.words:
                problem = glob_patterns.find_pattern_problem(
                    kubernetes_names.find_label_value_problem, value_word.text
                )
                good = self._check_name_validity(value_word, "label value", problem) and good
        operator = requirement_operators.name_set_operator(requirement.operator)
        values = tuple(sorted({each.text for each in requirement.words}))
        return make(key.text, operator, values, requirement.span) if good else None

    def _check_bound(self, requirement: syntax_expr.Requirement) -> tuple[str, str | None] | None:
        """Convert a comparison to Gt or Lt and a whole number; return None for other operators.

        The number is None if it is invalid or does not fit an int64.
        """
        # Kubernetes compares integers with Gt and Lt only, so `>= n` becomes Gt n - 1.
        shift = {"Gt": 0, "Lt": 0, ">": 0, "<": 0, ">=": -1, "<=": 1}.get(requirement.operator)
        if shift is None:
            return None
        operator = "Gt" if requirement.operator in ("Gt", ">", ">=") else "Lt"
        name = requirement.subject.name.text
        advice = foreign_words.TIMES.get(name.lower(), "")
        if name in vocabulary.ELAPSED_TIMES:
            advice = f"selectors read no times: compare `{name}` in `reject when` or `score`"
        number = whole_numbers.check_whole_number(
            self._env, requirement.words[0], requirement.operator, advice
        )
        if number is None:
            return operator, None
        if not int64.fits_int64(number + shift):
            return operator, None
        return operator, str(number + shift)

    def _check_name_validity(self, word: syntax_expr.Value, what: str, problem: str) -> bool:
        if problem:
            self._found.report_invalid_name(what, word, problem)
        return not problem

    # ------------------------------------------------------------------------ fields

    def _check_owner_requirement(
        self, requirement: syntax_expr.Requirement, argument: syntax_expr.Value
    ) -> checked_selector.Selector | None:
        """Check a requirement on `owner(name)`, which is a field with one text."""
        if check_owners.report_wrong_argument(self._found, requirement.subject):
            return None
        name = dataclasses.replace(requirement.subject.name, text=f"owner({argument.text})")
        subject = syntax_expr.Subject(requirement.subject.span, name, None)
        return self._check_field_requirement(
            dataclasses.replace(requirement, subject=subject), vocabulary.OWNER_NAME
        )

    def _check_field_requirement(
        self, requirement: syntax_expr.Requirement, field: vocabulary.ReservedField
    ) -> checked_selector.Selector | None:
        """Check a requirement on a field; Exists and `=` become In and NotIn."""
        name = requirement.subject.name.text
        if field.kind == "number":
            return self._check_number_requirement(requirement, None, units.NUMBER)
        operator, values = requirement.operator, [value.text for value in requirement.words]
        may_be_unset = field.kind == "text" or self._domain == "cluster"
        if operator in ("Exists", "DoesNotExist") and may_be_unset:
            operator, values = ("NotIn", [""]) if operator == "Exists" else ("In", [""])
        set_operator = requirement_operators.name_set_operator(operator)
        if set_operator not in ("In", "NotIn"):
            self._report_operator_of_field(requirement)
            return None
        for value in requirement.words:
            if field.values and value.text not in field.values:
                self._found.report_word_not_allowed(f"a value of `{name}`", value, field.values)
                return None
        if field_values.report_impossible_values(self._found, requirement):
            return None
        field_values.warn_of_impossible_owner_kind(self._found, requirement)
        return checked_selector.FieldRequirement(
            cast("Any", name),
            cast("Any", set_operator),
            tuple(sorted(set(values))),
            requirement.span,
        )

    def _report_operator_of_field(self, requirement: syntax_expr.Requirement) -> None:
        """Report an operator that a field does not support."""
        signs = {"Exists": ">", "DoesNotExist": "="}
        supported = "In, NotIn, = and !="
        if requirement.subject.name.text == "storageClass" and requirement.operator in signs:
            supported += f"; write `requests(storage) {signs[requirement.operator]} 0`"
        code = "PS704" if self._domain == "cluster" else "PS108"
        requirement_operators.report_wrong_operator(self._found, requirement, supported, code)

    def _check_amount_requirement(
        self, requirement: syntax_expr.Requirement, argument: syntax_expr.Value
    ) -> checked_selector.Selector | None:
        """Check a requirement on `requests(R)` or `limits(R)`."""
        name = requirement.subject.name.text
        if check_resource_names.report_wrong_resource(self._env, name, argument, self._domain):
            return None
        number = self._check_number_requirement(
            requirement, argument.text, units.find_resource_unit(argument.text)
        )
        if number is None or name == "requests":
            return number
        return dataclasses.replace(number, amount="limits")

    def _check_number_requirement(
        self, requirement: syntax_expr.Requirement, resource: str | None, unit: units.Unit
    ) -> checked_selector.NumberRequirement | None:
        """Check a comparison of the priority or of an amount of a resource."""
        comparator = requirement_operators.COMPARATORS.get(requirement.operator)
        if comparator is None:
            requirement_operators.report_wrong_operator(
                self._found, requirement, "=, !=, <, <=, > and >="
            )
            return None
        word = requirement.words[0]
        is_number = numerals.parse_numeral(word.text) is not None or word.text[:1] in "-0123456789"
        is_priority = requirement.subject.name.text == "priority"
        if (
            is_priority
            and not is_number
            and check_label_idioms.report_priority_class_name(self._env, word)
        ):
            return None
        amount = syntax_expr.Numeral(word.span, word.text) if is_number else word
        value = number_reading.read_number_in_unit(self._env, amount, unit)
        if value is None:
            return None
        return checked_selector.NumberRequirement(resource, comparator, value, requirement.span)
