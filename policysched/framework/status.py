"""What a plugin answers.

"Does not fit" is an answer, not an exception. Codes and their meaning are those of kube-scheduler
(`k8s.io/kube-scheduler/framework/interface.go`).
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import columns


class Code(enum.Enum):
    """Outcome of one plugin; the value is the word shown to users."""

    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    """Does not fit now; removing other pods may help."""
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"
    """Does not fit, and removing pods would not help."""
    WAIT = "Wait"
    SKIP = "Skip"
    """The plugin has nothing to say about this pod."""
    PENDING = "Pending"


@dataclasses.dataclass(frozen=True, slots=True)
class RuleRef:
    """The policy rule behind an answer; `line` is 1-based in the policy's own text."""

    policy: str
    rule: str
    line: int


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """A code and the reasons that users read; `rule` is set when a policy decided."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    rule: RuleRef | None = None

    @property
    def source_name(self) -> str:
        """`POLICY/RULE` of the rule, else the plugin; "" if neither is known."""
        return f"{self.rule.policy}/{self.rule.rule}" if self.rule else self.plugin

    @property
    def is_success(self) -> bool:
        """Whether the answer is yes."""
        return self.code is Code.SUCCESS

    @property
    def is_skip(self) -> bool:
        """Whether the plugin has nothing to say."""
        return self.code is Code.SKIP

    @property
    def message(self) -> str:
        """All reasons as one text."""
        return ", ".join(self.reasons)

    @property
    def problem(self) -> str:
        """All reasons as one text, or that an answer that needs some has none."""
        return self.message or f"it answered {self.code.value} without a reason"

    @property
    def is_rejection(self) -> bool:
        """Whether the pod does not fit (now or at all)."""
        return self.code in (
            Code.UNSCHEDULABLE,
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            Code.PENDING,
        )


SUCCESS = Status(Code.SUCCESS)
SKIP = Status(Code.SKIP)


def unschedulable(plugin: str, *reasons: str, rule: RuleRef | None = None) -> Status:
    """Return a rejection that the removal of other pods could cure."""
    return Status(Code.UNSCHEDULABLE, reasons, plugin, rule)


def unresolvable(plugin: str, *reasons: str, rule: RuleRef | None = None) -> Status:
    """Return a rejection that the removal of other pods cannot cure."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, plugin, rule)


def error(plugin: str, doing: str, cause: Status) -> Status:
    """Return the error that `cause` is, with what was being done when it came."""
    return Status(Code.ERROR, (f"{doing}: {cause.problem}",), plugin)


@dataclasses.dataclass(slots=True)
class NodeStatuses:
    """One plugin's answer for n nodes.

    Attributes:
        ids: int16 (n,), index into `statuses`; 0 means the node passes.
        statuses: the distinct answers; `statuses[0]` is SUCCESS.
    """

    ids: npt.NDArray[np.int16]
    statuses: list[Status]

    @classmethod
    def passing(cls, n: int) -> NodeStatuses:
        """Return the answer that all n nodes pass."""
        return cls(np.zeros(n, np.int16), [SUCCESS])

    @classmethod
    def where(cls, fails: columns.NodeMask, status: Status) -> NodeStatuses:
        """Return the answer that the nodes of a bool (n,) mask fail with one status."""
        return cls(fails.astype(np.int16), [SUCCESS, status])

    @classmethod
    def first_of(cls, n: int, cases: Iterable[tuple[columns.NodeMask, Status]]) -> NodeStatuses:
        """Return, for each node, the first case whose mask holds."""
        result = cls.passing(n)
        for fails, status in cases:
            number = np.int16(len(result.statuses))
            result.ids += number * (fails & (result.ids == 0))
            result.statuses.append(status)
        return result

    @property
    def passes(self) -> columns.NodeMask:
        """Bool (n,): the nodes that pass."""
        mask: columns.NodeMask = self.ids == 0
        return mask
