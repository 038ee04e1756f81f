"""The public API of policysched, for plugin authors and scripts.

docs/plugins.md shows how to build a plugin with these names. They change only with a note in
CHANGELOG.md and, if possible, after a release that still accepts the old name. All other names may
change without notice. Importing this module imports NumPy and the plugins; importing `policysched`
alone does not.

A plugin implements the Protocols of its extension points, which define the parameters and results
of each method; it needs no base class. Optional methods that only reduce the number of calls to a
plugin are not part of this module.
"""

from __future__ import annotations

from policysched.cluster.objects.selectors import LabelOperator, Requirement
from policysched.cluster.pods.pod_shape import PodInfo
from policysched.cluster.snapshot import NodeView, Snapshot
from policysched.framework.cycle_state import CycleState
from policysched.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from policysched.framework.handles import BindError, Handle
from policysched.framework.interface import (
    ALL_NODES,
    MAX_NODE_SCORE,
    SKIP_FILTER,
    AssumingPlugin,
    BindPlugin,
    Diagnosis,
    EventsPlugin,
    EvidencePlugin,
    FilterPlugin,
    NodeEvidencePlugin,
    NormalizeScorePlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreBindPreFlightPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    RawScores,
    Reads,
    ReservePlugin,
    ScorePlugin,
)
from policysched.framework.queued_pod import QueuedPodInfo
from policysched.framework.status import (
    SKIP,
    SUCCESS,
    Code,
    NodeStatuses,
    Status,
    unresolvable,
    unschedulable,
)
from policysched.framework.waiting_pods import WaitingPod, WaitingPods
from policysched.lang.checking.checker import CheckResult, check
from policysched.lang.diagnostics.diagnostics import Diagnostic, Severity
from policysched.lang.formatting.formatter import FormatResult, format_text
from policysched.lang.source import SourceText
from policysched.plugins.arguments import ArgumentStruct, decode_arguments, require_range

__all__ = [
    "ALL_NODES",
    "MAX_NODE_SCORE",
    "SKIP",
    "SKIP_FILTER",
    "SUCCESS",
    "ActionType",
    "ArgumentStruct",
    "AssumingPlugin",
    "BindError",
    "BindPlugin",
    "CheckResult",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Code",
    "CycleState",
    "Diagnosis",
    "Diagnostic",
    "EventResource",
    "EventsPlugin",
    "EvidencePlugin",
    "FilterPlugin",
    "FormatResult",
    "Handle",
    "LabelOperator",
    "NodeEvidencePlugin",
    "NodeStatuses",
    "NodeView",
    "NormalizeScorePlugin",
    "PermitPlugin",
    "Plugin",
    "PodInfo",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindPlugin",
    "PreBindPreFlightPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "QueueSortPlugin",
    "QueuedPodInfo",
    "QueueingHint",
    "RawScores",
    "Reads",
    "Requirement",
    "ReservePlugin",
    "ScorePlugin",
    "Severity",
    "Snapshot",
    "SourceText",
    "Status",
    "WaitingPod",
    "WaitingPods",
    "check",
    "decode_arguments",
    "format_text",
    "require_range",
    "unresolvable",
    "unschedulable",
]
