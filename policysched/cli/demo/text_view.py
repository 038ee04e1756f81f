"""Prints the demo as plain text, for pipes, logs and small terminals."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from policysched import spelling
from policysched.cli.demo import decision_facts
from policysched.cli.render import output
from policysched.sim import node_state

_BAR_WIDTH = 10
_SHOWN_NAMES = 3
_INDENT = "    "


class TextView:
    """Prints each step as it happens; nodes are printed once in each chapter."""

    def __init__(self, speed: float | None = None) -> None:
        """Print with pauses divided by `speed`; None omits the pauses."""
        self._speed = speed
        self._nodes: Sequence[node_state.NodeState] = ()
        self._pending: Sequence[str] = ()
        self._has_begun = False

    def show_chapter(self, number: int, title: str, text: str) -> None:
        """Print the nodes at the end of the previous chapter, and then the title."""
        if self._has_begun:
            self._print_nodes()
        else:
            output.write_report(
                "policysched demo: the shipped policies place pods on an embedded cluster"
            )
        self._has_begun = True
        output.write_report(f"\n{number}. {title}: {text}\n")

    def show_cluster(self, nodes: Sequence[node_state.NodeState], pending: Sequence[str]) -> None:
        """Store the nodes and the pending pods, which are printed later."""
        self._nodes, self._pending = nodes, pending

    def show_decision(self, found: decision_facts.DecisionFacts) -> None:
        """Print the node of a pod and the reasons."""
        output.write_report(_format_decision_headline(found))
        if found.node is None:
            output.write_report(_format_exclusion_reasons(found))
        elif found.runner_up is not None:
            output.write_report(_format_rule_points(found))
        output.write_report("")

    def show_edit(self, file: str, diff: Sequence[str]) -> None:
        """Print the diff of a policy file."""
        output.write_report(
            "\n".join([f"  {file} is edited:", *(_INDENT + line for line in diff), ""])
        )

    async def pause(self, seconds: float) -> None:
        """Wait for `seconds` divided by the speed, or not at all."""
        if self._speed is not None:
            await asyncio.sleep(seconds / self._speed)

    def show_end(self, lines: Sequence[str]) -> None:
        """Print the nodes again, and then the closing lines."""
        self._print_nodes()
        output.write_report("\n".join(["", *lines]))

    def _print_nodes(self) -> None:
        """Print a table of nodes with their load and pods, and the pending pods."""
        header = ("NODE", "ZONE", "CPU REQUESTED", "MEMORY", "GPU", "BUSY", "PODS")
        rows = [
            (
                state.name,
                state.zone,
                f"{render_bar(state.cpu_share)} {state.cpu_share:4.0%}",
                f"{state.memory_share:.0%}",
                f"{state.gpus_requested}/{state.gpus}" if state.gpus else "-",
                "-" if state.busy_share is None else f"{state.busy_share:.0%}",
                " ".join([*format_cordon_and_taints(state), *state.pods]),
            )
            for state in self._nodes
        ]
        output.write_report(output.format_table(header, rows, "  "))
        if self._pending:
            output.write_report(f"  pending: {' '.join(self._pending)}")


def render_bar(share: float, width: int = _BAR_WIDTH, full: str = "#", empty: str = ".") -> str:
    """Return a bar of `width` characters for a share in 0..1."""
    count = min(width, round(share * width))
    return full * count + empty * (width - count)


def format_cordon_and_taints(state: node_state.NodeState) -> list[str]:
    """Return the marks of a node that repel pods: cordon and taints."""
    cordoned = ["(cordoned)"] if state.is_cordoned else []
    return cordoned + [f"(taint {taint.rsplit('/', 1)[-1]})" for taint in state.taints]


def _format_decision_headline(found: decision_facts.DecisionFacts) -> str:
    if found.node is None:
        return f"  {found.pod} ({found.profile}) fits nowhere\n    {found.message}"
    choice = f"{found.feasible} of {found.node_count} nodes fit"
    parts = [f"  {found.pod} ({found.profile}) -> {found.node}: {choice}"]
    out = decision_facts.format_exclusions(found)
    parts += [f"rejected: {out}"] if out else []
    parts += [found.edit_effect] if found.edit_effect else []
    return "\n    ".join(parts)


def _format_rule_points(found: decision_facts.DecisionFacts) -> str:
    header = ("POINTS", found.node or "", f"next: {found.runner_up}")
    shown = decision_facts.select_rule_points_rows(found, len(found.points) + 2)
    return output.format_table(header, [(p.rule, p.chosen, p.runner_up) for p in shown], _INDENT)


def _format_exclusion_reasons(found: decision_facts.DecisionFacts) -> str:
    header = ("NODES", "WHY NOT", "REJECTED BY", "WHICH")
    rows = [
        (len(e.nodes), e.reason, e.rule, spelling.join_some_names(e.nodes, _SHOWN_NAMES))
        for e in found.excluded
    ]
    return output.format_table(header, rows, _INDENT)
