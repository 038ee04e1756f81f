"""Resolves names in expectations: each name must refer to an existing object.

Otherwise, a test could pass or fail only because a rule was renamed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policysched import spelling
from policysched.policytests import suite as suites
from policysched.policytests import suite_inputs

ANY = "any"
_Fault = tuple[int, str]


class NameResolver:
    """The names that the tests in a file can use."""

    def __init__(self, inputs: suite_inputs.SuiteInputs) -> None:
        """Collect the names of nodes, rules and plugins of `inputs`."""
        program = inputs.get_policy_set().program
        self._inputs = inputs
        self._policies = [each.name for each in program.policies] if program else []
        self._rules = [rule.head.name for rule in inputs.enforced_rules]
        self._plugins = set(inputs.get_policy_set().plugins.list_plugin_names())
        self._targets = {each.name: each.target for each in inputs.get_policy_set().all_metrics}
        self._labels = {key for node in inputs.nodes.values() for key in node.metadata.labels}

    def resolve_rule(self, written: str) -> str:
        """Return the full name of a rule, or the name of a plugin unchanged.

        The name must be valid; see `describe_rule_problem`.
        """
        found = self._find_matching_rules(written)
        return found[0] if found else written

    def resolve_pod(self, written: str) -> str:
        """Return `namespace/name` of a pod; other names, such as those of copies, unchanged."""
        return self._inputs.find_pod_key(written) or written

    def shorten_rule(self, name: str) -> str:
        """Return the shortest unambiguous name of a rule."""
        short = name.partition("/")[2]
        return short if short and len(self._find_matching_rules(short)) == 1 else name

    def _find_matching_rules(self, written: str) -> list[str]:
        if "/" in written:
            return [name for name in self._rules if name == written]
        return [name for name in self._rules if name.partition("/")[2] == written]

    def describe_rule_problem(self, written: str, *, or_plugin: bool) -> str:
        """Return the problem with the name of a rule, or ""."""
        found = self._find_matching_rules(written)
        is_plugin = or_plugin and written in self._plugins
        if len(found) > 1:
            said = spelling.join_alternatives(f"`{name}`" for name in found)
            return f"several rules are named `{written}`: write {said}"
        if found or is_plugin:
            return ""
        known = [*self._rules, *(name.partition("/")[2] for name in self._rules)]
        kind = "rule or plugin" if or_plugin else "rule"
        return suite_inputs.describe_unknown_name(
            kind, written, [*known, *(self._plugins if or_plugin else ())]
        )

    def find_case_faults(self, case: suites.PolicyTestCase) -> Iterator[_Fault]:
        """Yield the line and message of every unknown name in a case."""
        written = case.value["pod"]
        if isinstance(written, str) and (problem := self._inputs.describe_pod_problem(written)):
            yield case.find_line("pod"), problem
        yield from self._find_metric_faults(case)
        yield from self._find_node_faults(case)
        yield from self._find_pod_faults(case)
        yield from self._find_rule_faults(case)
        for index, name in enumerate(case.expect.get("policies", ())):
            if name not in self._policies:
                line = case.find_line("expect", "policies", index)
                yield line, suite_inputs.describe_unknown_name("policy", name, self._policies)
        for key in case.expect.get("maxSkew", {}):
            if key not in self._labels:
                problem = f"no node has a label `{key}`"
                advice = spelling.suggest_names(key, self._labels)
                yield (
                    case.find_line("expect", "maxSkew", key),
                    problem + (advice and f" ({advice})"),
                )

    def find_metric_name_faults(self, suite: suites.PolicyTestSuite) -> Iterator[_Fault]:
        """Yield the line and message of every unknown name in the metrics of the file."""
        for metric, nodes in suite.get_file_field("metrics", {}).items():
            yield from self._find_metric_table_faults(
                metric, nodes, suite.find_line("metrics", metric)
            )
            target = self._targets.get(metric, "node")
            known = self._inputs.nodes if target == "node" else suite.get_file_field("clusters", {})
            for node in nodes if isinstance(nodes, dict) else ():
                if node not in known:
                    line = suite.find_line("metrics", metric, node)
                    yield line, suite_inputs.describe_unknown_name(target, node, known)

    def _find_metric_faults(self, case: suites.PolicyTestCase) -> Iterator[_Fault]:
        said = case.value.get("metrics", {})
        for metric, nodes in said.items() if isinstance(said, dict) else ():
            yield from self._find_metric_table_faults(
                metric, nodes, case.find_line("metrics", metric)
            )
            for node in nodes if isinstance(nodes, dict) else ():
                yield from self._find_unknown_node_fault(
                    node, case.find_line("metrics", metric, node)
                )

    def _find_metric_table_faults(self, metric: str, nodes: object, line: int) -> Iterator[_Fault]:
        if metric not in self._targets:
            yield line, suite_inputs.describe_unknown_name("metric", metric, self._targets)
        if isinstance(nodes, str) and nodes != "outage":
            yield line, f"`{metric}` is a mapping from node to value, or outage"

    def _find_node_faults(self, case: suites.PolicyTestCase) -> Iterator[_Fault]:
        """Yield the line and message of every unknown node in the expectations."""
        expect = case.expect
        for field in ("node", "feasible"):
            for index, name in enumerate(_convert_to_list(expect.get(field))):
                yield from self._find_unknown_node_fault(
                    name, case.find_line("expect", field, index)
                )
        for field in ("rejected", "scores", "placed"):
            for name in expect.get(field, {}):
                yield from self._find_unknown_node_fault(
                    name, case.find_line("expect", field, name)
                )
        for rule, nodes in expect.get("rules", {}).items():
            for name in nodes:
                yield from self._find_unknown_node_fault(
                    name, case.find_line("expect", "rules", rule, name)
                )

    def _find_pod_faults(self, case: suites.PolicyTestCase) -> Iterator[_Fault]:
        """Yield the line and message of every unknown pod in the expectations."""
        named = [
            *((pod, ("evicts", i)) for i, pod in enumerate(case.expect.get("evicts", ()))),
            *((pod, ("kept", pod)) for pod in case.expect.get("kept", {})),
        ]
        for pod, path in named:
            if problem := self._inputs.describe_pod_problem(pod):
                yield case.find_line("expect", *path), problem

    def _find_unknown_node_fault(self, name: str, line: int) -> Iterator[_Fault]:
        if name not in self._inputs.nodes:
            yield line, suite_inputs.describe_unknown_name("node", name, self._inputs.nodes)

    def _find_rule_faults(self, case: suites.PolicyTestCase) -> Iterator[_Fault]:
        """Yield the line and message of every unknown or ambiguous rule in the expectations."""
        expect = case.expect
        named = [
            (rule, case.find_line("expect", field, subject), field == "rejected")
            for field in ("rejected", "kept")
            for subject, said in expect.get(field, {}).items()
            for rule in _convert_to_list(said)
            if rule != ANY
        ]
        named += [
            (rule, case.find_line("expect", "rules", rule), True) for rule in _get_rule_keys(expect)
        ]
        named += [
            (rule, case.find_line("expect", "skipped", index), False)
            for index, rule in enumerate(expect.get("skipped", ()))
        ]
        for rule, line, or_plugin in named:
            if problem := self.describe_rule_problem(rule, or_plugin=or_plugin):
                yield line, problem


def _get_rule_keys(expect: object) -> Iterable[str]:
    return expect.get("rules", {}) if isinstance(expect, dict) else ()


def _convert_to_list(value: object) -> list[str]:
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, str) else []
