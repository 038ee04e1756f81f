"""Checked expressions become programs for the kernel (`kernels.programs`).

A program has one or more results for each node. Expressions that occur several times are calculated
once. Fields of the incoming pod are constants, which are set for each shape.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler import inputs
from policysched.compiler.metrics import metric_samples
from policysched.compiler.nodes import node_creation
from policysched.compiler.pods import counted_pods
from policysched.framework import cycle_state
from policysched.kernels import programs

PodConstant: TypeAlias = Callable[[pod_shape.PodShape, snapshot.Snapshot], float]
"""A number of the incoming pod; NaN if it is missing, 1 or 0 for a condition."""
_Code: TypeAlias = npt.NDArray[np.int32]
_numbers = itertools.count()
"""Numbers of programs for cycle states, which may live longer than a program."""


class _RowNumbers(Protocol):
    """Calculates numbers of rows for the pod of a cycle: counted pods, or devices."""

    def compute(self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]) -> columns.FloatArray:
        """Return float64 (n,): the number for each of `rows`, NaN if it is missing."""
        ...


class DeviceNumber(Protocol):
    """A number about devices."""

    def bind(self, state: cycle_state.CycleState) -> _RowNumbers:
        """Return the numbers for the pod of the cycle of `state`."""
        ...


class _Bound(NamedTuple):
    """A program with the constants of pods that are equal to it, and the columns of a cluster.

    `version` is the program's when it was bound. Counted pods and devices are the inputs that
    follow those of the table, of which there were `input_count`.
    """

    nodes: columns.NodeColumns
    resource_count: int
    version: int
    code: _Code
    constants: columns.FloatArray
    input_count: int
    row_numbers: Sequence[_RowNumbers]


class Program:
    """Results of expressions for any nodes.

    Attributes:
        result_count: E, the number of results for each node.
        counted: the pods that the program counts.
        version: `InputTable.version` at the last run.
    """

    def __init__(self, draft: ProgramDraft, table: inputs.InputTable) -> None:
        """Take the instructions of `draft`; inputs are in `table`."""
        self.result_count = draft.result_count
        self.counted = tuple(counted for _, counted in draft.counts)
        self.version = -1
        self._table = table
        self._code: _Code = np.array(draft.code, np.int32).reshape(-1, 4)
        self._constants = np.array(draft.constants, np.float64)
        self._pod_constants = tuple(draft.pod_constants)
        self._amounts = tuple(draft.amounts)
        self._devices = tuple(number for _, number in draft.device_numbers)
        read = (*draft.counts, *draft.device_numbers)
        self._row_number_places = tuple(instruction for instruction, _ in read)
        self._samples = tuple(draft.samples)
        self._age_input = draft.age_bounds[0][0] if draft.age_bounds else None
        self._ages_seconds = tuple({seconds for _, seconds in draft.age_bounds})
        self._binds_again = draft.binds_again
        self._registers = np.zeros((max(draft.register_count, 1), programs.BLOCK))
        self._key = f"program {next(_numbers)}"
        self._valid_until: datetime.datetime | None = None

    def run(
        self, nodes: snapshot.NodeView, shape: pod_shape.PodShape, state: cycle_state.CycleState
    ) -> columns.FloatArray:
        """Return float64 (E, n) for pods of a shape.

        `state` belongs to pods that are equal in everything that the program reads. It learns when
        a sample that counts becomes stale.
        """
        snap = nodes.snapshot
        self._refresh(snap, state)
        bound = state.find(self._key, _Bound)
        if bound is None or not self._is_current(bound, snap):
            bound = self._bind(shape, snap, state)
            state.write(self._key, bound)
        rows = nodes.row_numbers
        if bound.row_numbers:
            values = self._add_row_numbers(bound, snap, rows)
            return self._run(bound, rows, np.arange(len(rows)), values)
        return self._run(bound, rows, rows, self._table.values)

    def remember_counts(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> None:
        """Count from now on for each node as if only the pods of this node had changed.

        This holds for pods of `shape` as long as `state` is used.
        """
        self._refresh(snap, state)
        counts = [each.count_what_if(shape, snap) for each in self.counted]
        bound = self._bind(shape, snap, state)
        row_numbers = (*counts, *bound.row_numbers[len(counts) :])
        state.write(self._key, bound._replace(row_numbers=row_numbers))

    def run_elsewhere(
        self, nodes: snapshot.NodeView, shape: pod_shape.PodShape
    ) -> columns.FloatArray:
        """Return the same for nodes outside the cluster.

        The program reads neither pods nor devices.
        """
        bound = self._bind(shape, nodes.snapshot, cycle_state.CycleState())
        values = self._table.compute(nodes)
        return self._run(bound, nodes.row_numbers, np.arange(len(nodes)), values)

    def _refresh(self, snap: snapshot.Snapshot, state: cycle_state.CycleState) -> None:
        """Bring the inputs up to date; `state` learns when they change by the time alone.

        That is when a sample that counts becomes stale, or a node reaches an age.
        """
        version = self._table.refresh(snap)
        is_over = self._valid_until is not None and snap.now >= self._valid_until
        if version != self.version or is_over:
            ends = [samples.current(snap).valid_until for samples in self._samples]
            if self._age_input is not None:
                created = self._table.values[self._age_input, : snap.size]
                ends.append(node_creation.find_next_change(created, self._ages_seconds, snap.now))
            self._valid_until = min((end for end in ends if end is not None), default=None)
            self.version = version
        if self._valid_until is not None:
            state.expire_at(self._valid_until)

    def _add_row_numbers(
        self, bound: _Bound, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]
    ) -> columns.FloatArray:
        """Return float64 (J + K, n): the J inputs of the table and the K row numbers for `rows`."""
        values = np.empty((bound.input_count + len(bound.row_numbers), len(rows)))
        values[: bound.input_count] = self._table.values[: bound.input_count, rows]
        for place, numbers in enumerate(bound.row_numbers, bound.input_count):
            values[place] = numbers.compute(snap, rows)
        return values

    def _run(
        self,
        bound: _Bound,
        rows: npt.NDArray[np.intp],
        input_rows: npt.NDArray[np.intp],
        values: columns.FloatArray,
    ) -> columns.FloatArray:
        nodes = bound.nodes
        out: columns.FloatArray = np.empty((self.result_count, len(rows)))
        programs.run_program(
            bound.code,
            bound.constants,
            rows,
            nodes.allocatable,
            nodes.requested,
            nodes.allowed_pods,
            nodes.pod_count,
            input_rows,
            values,
            self._registers,
            out,
        )
        return out

    def _is_current(self, bound: _Bound, snap: snapshot.Snapshot) -> bool:
        """Return whether the constants and columns of `bound` are those of the cluster."""
        is_same = bound.nodes is snap.nodes and bound.resource_count == len(snap.nodes.resources)
        return is_same and (not self._binds_again or bound.version == self.version)

    def _bind(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot, state: cycle_state.CycleState
    ) -> _Bound:
        """Return the program with the constants of a shape."""
        nodes = snap.nodes
        code, constants = self._code.copy(), self._constants.copy()
        for instruction, resource in self._amounts:
            code[instruction, 2] = nodes.get_resource_column_index(resource)
        for place, constant in self._pod_constants:
            constants[place] = constant(shape, snap)
        input_count = len(self._table.inputs)
        for place, instruction in enumerate(self._row_number_places, input_count):
            code[instruction, 2] = place
        row_numbers = (
            *(each.count_live(shape) for each in self.counted),
            *(each.bind(state) for each in self._devices),
        )
        return _Bound(
            nodes, len(nodes.resources), self.version, code, constants, input_count, row_numbers
        )


class ProgramDraft:
    """Instructions that are being collected; registers are numbers of expressions.

    Attributes:
        code: (operation, target, left, right), as `kernels.programs` defines them.
        constants: constants, of which `pod_constants` are set for each shape.
        pod_constants: (number of the constant, function of the shape).
        amounts: (number of the instruction, resource) of loads whose column is not known yet.
        counts: (number of the instruction, counted pods) of inputs whose number is not known yet.
        device_numbers: the same for numbers about devices; these inputs follow the counts.
        samples: metrics that the program reads.
        binds_again: whether constants depend on nodes: on how columns of labels number their
            values, or on the ages of nodes.
        age_bounds: (number of the input with the creation of nodes, age in seconds).
        register_count: G.
        result_count: E.
    """

    def __init__(self) -> None:
        """Start without instructions."""
        self.code: list[tuple[int, int, int, int]] = []
        self.constants: list[float] = []
        self.pod_constants: list[tuple[int, PodConstant]] = []
        self.amounts: list[tuple[int, str]] = []
        self.counts: list[tuple[int, counted_pods.CountedPods]] = []
        self.device_numbers: list[tuple[int, DeviceNumber]] = []
        self.samples: list[metric_samples.MetricSamples] = []
        self.binds_again = False
        self.age_bounds: list[tuple[int, int]] = []
        self.register_count = 0
        self.result_count = 0

    def emit(self, operation: int, left: int = 0, right: int = 0) -> int:
        """Add an instruction, and return the register of its result."""
        self.code.append((operation, self.register_count, left, right))
        self.register_count += 1
        return self.register_count - 1

    def emit_constant(self, value: float) -> int:
        """Return a register with a number."""
        return self.emit(programs.CONSTANT, self._add_constants([value]))

    def emit_pod_constant(self, constant: PodConstant) -> int:
        """Return a register with a number of the incoming pod."""
        place = self._add_constants([np.nan])
        self.pod_constants.append((place, constant))
        return self.emit(programs.CONSTANT, place)

    def emit_amount(self, operation: int, resource: str) -> int:
        """Return a register with an amount of a resource."""
        self.amounts.append((len(self.code), resource))
        return self.emit(operation)

    def emit_count(self, counted: counted_pods.CountedPods) -> int:
        """Return a register with a number of placed pods."""
        self.counts.append((len(self.code), counted))
        return self.emit(programs.INPUT)

    def emit_device_number(self, number: DeviceNumber) -> int:
        """Return a register with a number about devices."""
        self.device_numbers.append((len(self.code), number))
        return self.emit(programs.INPUT)

    def end(self, operation: int, register: int, constants: Sequence[float] = (0.0,)) -> None:
        """Make a register the next result."""
        first = self._add_constants(constants)
        self.code.append((operation, self.result_count, register, first))
        self.result_count += 1

    def _add_constants(self, values: Sequence[float]) -> int:
        self.constants.extend(values)
        return len(self.constants) - len(values)
