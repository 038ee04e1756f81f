"""What the page shows: a cluster with its policies, and the decisions that are known about it.

A source is a file, a listing of a running cluster, or the embedded cluster of the demo. The views
do not know which.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from policysched import clock as clocks
from policysched.inputs import cluster_file, karmada_file, metrics_file
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.observability.live_page import decision_rows
from policysched.page import policy_files

Answer: TypeAlias = dict[str, Any]
ReadSamples: TypeAlias = Callable[[Iterable[checked.CheckedMetric]], metrics_file.Samples]


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterInputs:
    """The inputs of a cluster's decider; findings and plans of edited policies use them as well.

    Attributes:
        where: the name of the cluster in errors and reports.
        objects: the objects of the cluster, which must not change.
        now: the time of all decisions.
        params: the values of params that the user gave.
        scheduler_name: the profile that serves all pods; None to use the profile of each pod.
        read_samples: returns the samples of metrics that edited policies may declare.
        plane: the Karmada control plane, if the page shows one instead of nodes and pods.
    """

    where: str
    objects: cluster_file.ClusterObjects
    now: datetime.datetime
    params: Mapping[str, str]
    scheduler_name: str | None
    read_samples: ReadSamples
    plane: karmada_file.KarmadaControlPlane = dataclasses.field(
        default_factory=karmada_file.KarmadaControlPlane
    )


def describe_unknown_node(pod: str, node: str) -> Answer:
    """Return the comparison with a node that does not exist, such as a name with a typing error."""
    return {"pod": pod, "node": node, "isUnknown": True}


class ViewAnswers(Protocol):
    """Answers the questions of the page about one cluster. Only one thread may use it at a time.

    The forms of the answers have the words of pods on nodes. For a Karmada control plane, a pod is
    a binding and a node is a member cluster; `shows` says which.

    A name that does not exist raises InputError, or LookupError for a node.
    """

    shows: Literal["pods", "bindings"]

    def make_status(self) -> Answer:
        """Return the counts of nodes and pods, the profiles and the hash of the policies."""
        ...

    def make_map(self) -> Answer:
        """Return all nodes as columns."""
        ...

    def make_node(self, name: str) -> Answer:
        """Return one node."""
        ...

    def make_pending(self, clock: clocks.Clock) -> Answer:
        """Return the pods that wait, with the reason for each."""
        ...

    def make_explanation(self, pod: str) -> Answer:
        """Return the decision about a pod."""
        ...

    def make_comparison(self, pod: str, node: str) -> Answer:
        """Return every rejection of a pod by a node, and the points of the node.

        A node that does not exist is an answer: `describe_unknown_node`.
        """
        ...

    def make_study(self, pod: str, clock: clocks.Clock) -> Answer:
        """Return the changes that would let a pod fit, or make another node win."""
        ...

    def make_report(self, pod: str, clock: clocks.Clock) -> Answer:
        """Return the report of `explain` about a pod."""
        ...

    def make_policies(self) -> Answer:
        """Return the findings about the policies in use, and the rules of each profile."""
        ...

    def make_rule_effects(self, clock: clocks.Clock) -> Answer:
        """Return the pods of each rule, and the nodes that it rejects for pending ones."""
        ...

    def find_names(self, text: str) -> Answer:
        """Return pods, nodes and rules whose name contains `text`."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster at one time.

    Attributes:
        generation: increases with every change, so that a client knows what it has seen.
        answers: answers about the decisions in the cluster.
        inputs: the inputs of these decisions.
        policies: the policies in use, in the order in which they were read.
    """

    generation: int
    answers: ViewAnswers
    inputs: ClusterInputs
    policies: Sequence[source.SourceText]


class PageSource(Protocol):
    """Provides the cluster that the page shows.

    Attributes:
        kind: `demo`, `file`, `live` (a listing), or `scheduler` (a running scheduler).
        title: names the cluster, such as the path of its file.
        has_cluster: False for a running scheduler of whose cluster there is no listing.
        decisions: the decisions of a scheduler that the source runs; None if it runs none.
        policy_files: the files of the policies; None if the source itself follows their changes.
    """

    kind: str
    title: str
    has_cluster: bool
    decisions: decision_rows.DecisionRows | None
    policy_files: policy_files.PolicyFiles | None

    @property
    def steps(self) -> Mapping[str, str]:
        """The steps that the user can take: the label of a button, keyed by the name of the step.

        Empty for a cluster that the page cannot change.
        """
        ...

    def get_view(self) -> ClusterView:
        """Return the cluster as it is now; equal generations have the same content.

        Raises:
            InputError: not `has_cluster`.
        """
        ...

    def take_step(self, name: str) -> None:
        """Make one of `steps` happen.

        Raises:
            LookupError: there is no such step.
        """
        ...
