"""Reads the inputs of the tests in a file: policies, cluster and metrics."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from policysched import clock as clocks
from policysched import spelling
from policysched.cluster.objects import objects
from policysched.inputs import cluster_file, metrics_file, object_lists, plain_yaml, policy_sources
from policysched.lang.checked import checked
from policysched.offline import sessions
from policysched.policytests import pod_copies, series, shorthand, suite_devices
from policysched.policytests import suite as suites
from policysched.profiles import policies

_ANY_TIME = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""The default time of tests, for policies that do not depend on the time."""
_OUTAGE = "outage"


@dataclasses.dataclass(frozen=True, slots=True)
class CaseDecisionInputs:
    """A case that is ready for a decision.

    Attributes:
        basis: the policies, time and samples on which the decision is based.
        found: the cluster, in which only the pods of the case are pending.
    """

    basis: sessions.DeciderFactory
    found: cluster_file.ClusterObjects


class SuiteInputs:
    """Reads the inputs of one test file and prepares them for each test.

    Attributes:
        nodes: the nodes, keyed by name.
        pods: all pods, keyed by `namespace/name`.
    """

    def __init__(
        self,
        suite: suites.PolicyTestSuite,
        read: set[str],
        prometheus_bin: str | None = None,
        known: policies.PolicySet | None = None,
    ) -> None:
        """Read the inputs, and add the path of every file to `read`, even if it cannot be read.

        `known` contains the policies if the caller has already read them.

        Raises:
            SuiteError: the test file refers to an unknown object, or contains an invalid shorthand.
            InputError: an input cannot be read, or is invalid.
        """
        self._suite = suite
        self._policy_sets: dict[tuple[tuple[str, str], ...], policies.PolicySet] = {}
        self._known = known
        self._series = series.SeriesEvaluator(suite, prometheus_bin)
        self._paths = list(self._find_policy_paths())
        read.update(*map(_list_files, self._paths))
        if suite.get_file_field("cluster"):
            read.add(self._resolve_path(suite.get_file_field("cluster")))
        self._found = self._read_cluster()
        self.nodes = {node.name: node for node in self._found.nodes}
        self.pods = {pod.key: pod for pod in self._found.pods}

    # --- policies --------------------------------------------------------------------------------

    def _find_policy_paths(self) -> Iterator[str]:
        """Yield the files that match `policies`; each pattern must match at least one file."""
        for number, pattern in enumerate(self._suite.get_file_field("policies", ())):
            try:
                found = sorted(self._match_files(pattern))
            except (OSError, ValueError):  # a name that is too long or contains NUL
                found = []
            if not found:
                line = self._suite.find_line("policies", number)
                suite = self._suite.path
                problem = f"`{pattern}` matches no file relative to the folder of `{suite}`"
                raise suites.SuiteError(self._suite.path, [(line, problem)])
            yield from found

    def _match_files(self, pattern: str) -> Iterator[str]:
        literal = self._suite.folder / pattern
        if object_lists.path_exists(literal):
            yield os.path.normpath(literal)
        elif not pathlib.PurePath(pattern).is_absolute():
            yield from (os.path.normpath(found) for found in self._suite.folder.glob(pattern))

    def _resolve_path(self, written: str) -> str:
        return os.path.normpath(self._suite.folder / written)

    def get_params(self, case: suites.PolicyTestCase | None = None) -> dict[str, str]:
        """Return the params of the file, overridden by the params of a case."""
        params = {
            **self._suite.get_file_field("params", {}),
            **(case.value.get("params", {}) if case else {}),
        }
        return {name: _format_param(value) for name, value in params.items()}

    def get_case_time(self, case: suites.PolicyTestCase) -> datetime.datetime:
        """Return the time of a case: `now` of the case or of the file, or a fixed default."""
        written = case.get_field("now")
        return (clocks.parse_time(written) if written else None) or _ANY_TIME

    def get_policy_set(self, case: suites.PolicyTestCase | None = None) -> policies.PolicySet:
        """Return the policies with the params of the file, overridden by the params of a case.

        Policies that were passed to the constructor are returned without new params.

        Raises:
            InputError: the policies have errors.
        """
        given = self.get_params(case)
        key = tuple(sorted(given.items()))
        if self._known is not None:
            return self._known
        if key not in self._policy_sets:
            self._policy_sets[key] = policies.load_policy_set(self._paths, given)
        return self._policy_sets[key]

    @property
    def policy_paths(self) -> list[str]:
        """The paths of policy files, folders and manifests."""
        return self._paths

    @property
    def enforced_rules(self) -> list[checked.Rule]:
        """All rules of the policies in force."""
        program = self.get_policy_set().program
        in_force = (each for each in program.policies if each.mode == "enforce") if program else ()
        return [rule for policy in in_force for rule in policy.rules]

    @property
    def all_rules(self) -> list[checked.Rule]:
        """All rules of the policies in force, and the rules of cluster policies."""
        program = self.get_policy_set().program
        across = program.cluster_policies if program else ()
        return [*self.enforced_rules, *(rule for policy in across for rule in policy.rules)]

    # --- the cluster -----------------------------------------------------------------------------

    def _read_cluster(self) -> cluster_file.ClusterObjects:
        """Return the objects of the cluster file and of the test file itself."""
        path = self._suite.get_file_field("cluster")
        found = (
            cluster_file.read_cluster(self._resolve_path(path))
            if path
            else cluster_file.ClusterObjects()
        )
        for name, labels in self._suite.get_file_field("namespaces", {}).items():
            metadata = {"name": name, "labels": labels}
            found.namespaces += _decode_object(
                {"kind": "Namespace", "metadata": metadata}
            ).namespaces
        nodes, pods = (
            self._suite.get_file_field("nodes", {}),
            self._suite.get_file_field("pods", {}),
        )
        for name in nodes:
            found.nodes += self._make_objects(shorthand.make_node, name, nodes, "node").nodes
        for name in pods:
            made = self._make_objects(shorthand.make_pod_with_claims, name, pods, "pod")
            found.pods += made.pods
            found.storage += made.storage
        self._require_known_nodes_of_pods({node.name for node in found.nodes})
        for each in suite_devices.make_devices_of_nodes(self._suite):
            found.devices += _decode_object(each).devices
        for name in pods:
            self._require_known_device_classes(name, pods, found)
        for each in suite_devices.make_claims_of_running_pods(self._suite):
            found.devices += _decode_object(each).devices
        return found

    def _make_objects(
        self,
        make: Callable[[str, shorthand.Fields], shorthand.Object],
        name: str,
        every: Mapping[str, shorthand.Fields],
        kind: str,
    ) -> cluster_file.ClusterObjects:
        """Return the object that a shorthand describes; errors name the line of the field."""
        place = f"{self._suite.path}:{self._suite.find_line(f'{kind}s', name)}"
        try:
            fields = shorthand.resolve_inherited_fields(name, every, kind)
        except shorthand.ShorthandError as error:
            line = self._suite.find_line(f"{kind}s", *error.path)
            raise suites.SuiteError(self._suite.path, [(line, error.problem)]) from error
        try:
            return _decode_object(make(name, fields), place)
        except shorthand.ShorthandError as error:
            line = self._suite.find_line(f"{kind}s", name, *error.path)
            raise suites.SuiteError(self._suite.path, [(line, error.problem)]) from error

    def _require_known_nodes_of_pods(self, nodes: set[str]) -> None:
        """Refuse pods on nodes that the cluster does not have."""
        faults = [
            (
                self._suite.find_line("pods", name, "node"),
                describe_unknown_name("node", fields["node"], nodes),
            )
            for name, fields in self._suite.get_file_field("pods", {}).items()
            if fields.get("node", "") not in {"", *nodes}
        ]
        if faults:
            raise suites.SuiteError(self._suite.path, faults)

    def _require_known_device_classes(
        self, name: str, pods: Mapping[str, shorthand.Fields], found: cluster_file.ClusterObjects
    ) -> None:
        """Refuse devices of a class that neither the cluster file nor a node has."""
        try:
            suite_devices.require_known_classes(pods[name], found.devices)
        except shorthand.ShorthandError as error:
            line = self._suite.find_line("pods", name, *error.path)
            raise suites.SuiteError(self._suite.path, [(line, error.problem)]) from error

    def get_pod(self, case: suites.PolicyTestCase) -> objects.Pod:
        """Return the pod of a case.

        Raises:
            SuiteError: the name is unknown or ambiguous, or the shorthand is invalid.
        """
        written = case.value["pod"]
        if not isinstance(written, str):
            return self._make_inline_pod(case, written).pods[0]
        problem = self.describe_pod_problem(written)
        if problem:
            raise suites.SuiteError(self._suite.path, [(case.find_line("pod"), problem)])
        return self.pods[self._find_pod_keys(written)[0]]

    def describe_pod_problem(self, written: str) -> str:
        """Return the problem with the name of a pod, or ""."""
        keys = self._find_pod_keys(written)
        if not keys:
            return describe_unknown_name(
                "pod", written, {*self.pods, *(p.metadata.name for p in self._list_pods())}
            )
        if len(keys) > 1:
            said = spelling.join_alternatives(f"`{key}`" for key in keys)
            return f"several pods are named `{written}`: write {said}"
        return ""

    def find_pod_key(self, written: str) -> str | None:
        """Return `namespace/name` of a pod, or None if it does not exist."""
        return next(iter(self._find_pod_keys(written)), None)

    def _list_pods(self) -> Iterable[objects.Pod]:
        return self.pods.values()

    def _find_pod_keys(self, written: str) -> list[str]:
        if "/" in written:
            return [written] if written in self.pods else []
        return [pod.key for pod in self._list_pods() if pod.metadata.name == written]

    def _make_inline_pod(
        self, case: suites.PolicyTestCase, fields: shorthand.Fields
    ) -> cluster_file.ClusterObjects:
        """Return the pod that a case itself describes, under an unused name, and its claims."""
        taken = {pod.metadata.name for pod in self._list_pods()}
        name = next(each for each in _generate_names() if each not in taken)
        every = {**self._suite.get_file_field("pods", {}), name: fields}
        place = f"{self._suite.path}:{case.find_line('pod')}"
        try:
            inherited = shorthand.resolve_inherited_fields(name, every, "pod")
            suite_devices.require_known_classes(inherited, self._found.devices)
            made = shorthand.make_pod_with_claims(name, inherited)
        except shorthand.ShorthandError as error:
            at = error.path[1:] if error.path[:1] == (name,) else error.path
            line = case.find_line("pod", *at)
            raise suites.SuiteError(self._suite.path, [(line, error.problem)]) from error
        return _decode_object(made, place)

    def _find_profile(
        self, case: suites.PolicyTestCase, policy_set: policies.PolicySet
    ) -> str | None:
        """Return the profile that a case names, if any; without policies, one decides everything.

        Raises:
            SuiteError: there is no such profile.
        """
        name: str | None = case.get_field("schedulerName")
        known = [spec.name for spec in policy_set.specs]
        if name is None or policy_set.program is None:
            return None
        if name not in known:
            declared = ", ".join(f"`{each}`" for each in known)
            problem = f"`schedulerName`: there is no profile `{name}` (there is {declared})"
            in_case = "schedulerName" in case.value
            line = (case if in_case else self._suite).find_line("schedulerName")
            raise suites.SuiteError(self._suite.path, [(line, problem)])
        return name

    # --- one case --------------------------------------------------------------------------------

    def make_decision_inputs(self, case: suites.PolicyTestCase) -> CaseDecisionInputs:
        """Return the inputs of the decision of a case.

        Raises:
            InputError: the pod, params or metrics are invalid.
        """
        policy_set = self.get_policy_set(case)
        now = self.get_case_time(case)
        samples = self._make_samples(case, policy_set, now)
        profile = self._find_profile(case, policy_set)
        basis = sessions.DeciderFactory(policy_set, now, samples, profile)
        pod = self.get_pod(case)
        count = case.value.get("replicas")
        ours = (
            [pod_copies.make_pending_pod(pod)]
            if count is None
            else pod_copies.make_pod_replicas(pod, count)
        )
        owners = [] if count is None else pod_copies.make_replica_set(pod)
        placed = [each for each in self._list_pods() if each.spec.node_name and each.key != pod.key]
        written = case.value["pod"]
        own = [] if isinstance(written, str) else self._make_inline_pod(case, written).storage
        found = dataclasses.replace(
            self._found,
            pods=[*placed, *ours],
            owners=[*self._found.owners, *owners],
            storage=[*self._found.storage, *own],
            devices=suite_devices.release_devices_of_pod(self._found.devices, pod),
        )
        return CaseDecisionInputs(basis, found)

    def _make_samples(
        self, case: suites.PolicyTestCase, policy_set: policies.PolicySet, now: datetime.datetime
    ) -> metrics_file.Samples:
        """Return the samples of the file, overridden by the samples of the case."""
        own = case.value.get("metrics", {})
        if own == _OUTAGE:
            return {}
        metrics = policy_set.node_metrics
        names = {metric.name for metric in metrics}
        samples: metrics_file.Samples = {}
        if self._suite.get_file_field("series"):
            evaluated = self._series.evaluate_metrics(metrics)
            samples = evaluated.get_samples(metrics, list(self.nodes.values()), now)
        for path, tables in (
            (("metrics",), self._suite.get_file_field("metrics", {})),
            (("tests", case.number, "metrics"), own),
        ):
            for metric, nodes in tables.items():
                if metric not in names:
                    continue  # the metric is about clusters
                table = {metric: {} if nodes == _OUTAGE else nodes}
                found = metrics_file.make_samples_from_tables(
                    table, self._make_line_locator(path), metrics, now
                )
                for key, values in found.items():
                    samples[key] = _override_samples(samples.get(key, {}), nodes, values)
        return samples

    def _make_line_locator(self, path: plain_yaml.Path) -> Callable[[plain_yaml.Path], str]:
        return lambda key: f"{self._suite.path}:{self._suite.find_line(*path, *key)}"


def _override_samples(before: dict[str, Any], nodes: Any, values: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - nodes are YAML
    """Return samples with overrides; overridden nodes without a new sample have none."""
    if nodes == _OUTAGE:
        return {}
    return {node: value for node, value in before.items() if node not in nodes} | values


def _list_files(path: str) -> list[str]:
    """Return a path, and the policy files in it if it is a folder."""
    return [path, *map(str, pathlib.Path(path).glob(f"*{policy_sources.SUFFIX}"))]


def _generate_names() -> Iterator[str]:
    """Yield names for an inline pod until the caller finds an unused name."""
    yield "pod"
    yield from (f"pod-of-test-{number}" for number in itertools.count(1))


def _format_param(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _decode_object(made: shorthand.Object, place: str = "") -> cluster_file.ClusterObjects:
    return cluster_file.parse_cluster(orjson.dumps(made), place, is_line=True)


def describe_unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message about an unknown name; it suggests the most similar known name."""
    advice = spelling.suggest_names(name, known)
    return f"there is no {kind} `{name}`" + (f" ({advice})" if advice else "")
