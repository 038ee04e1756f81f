"""What the page shows: a cluster with its policies, and the decisions that are known about it.

A source is a file, a listing of a running cluster, or the embedded cluster of the demo. The views
do not know which.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from policysched.inputs import cluster_file, metrics_file
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.observability.live_page import decision_rows
from policysched.offline import sessions

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
    """

    where: str
    objects: cluster_file.ClusterObjects
    now: datetime.datetime
    params: Mapping[str, str]
    scheduler_name: str | None
    read_samples: ReadSamples


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster at one time.

    Attributes:
        generation: increases with every change, so that a client knows what it has seen.
        decider: decides about the pods of the cluster. Only one thread may use it at a time.
        inputs: the inputs of `decider`.
        policies: the policies in use, in the order in which they were read.
    """

    generation: int
    decider: sessions.PodDecider
    inputs: ClusterInputs
    policies: Sequence[source.SourceText]


class PageSource(Protocol):
    """Provides the cluster that the page shows.

    Attributes:
        kind: `demo`, `file`, `live` (a listing), or `scheduler` (a running scheduler).
        title: names the cluster, such as the path of its file.
        has_cluster: False for a running scheduler of whose cluster there is no listing.
        decisions: the decisions of a scheduler that the source runs; None if it runs none.
    """

    kind: str
    title: str
    has_cluster: bool
    decisions: decision_rows.DecisionRows | None

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
