"""Draws the demo on a terminal: nodes and their load above, the latest decision below."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich import box, console, live, table, text
from rich import layout as layouts

from policysched.cli.demo import decision_facts, text_view
from policysched.cli.render import terminal
from policysched.sim import node_state

_MIN_WIDTH, _MIN_HEIGHT = 80, 24
_WIDE = 120
_LOG_LINES = 4
_FRAME_LINES = 3
"""The number of lines that frame a points table: two above it and one below it."""
_WARM, _HOT = 0.6, 0.85
_FULL, _EMPTY = "█", "░"


def can_draw_on_screen(screen: console.Console) -> bool:
    """Return whether the output is a terminal with a cursor, UTF-8 and a sufficient size."""
    is_large_enough = screen.width >= _MIN_WIDTH and screen.height >= _MIN_HEIGHT
    has_cursor = screen.is_terminal and not terminal.is_dumb_terminal()
    return has_cursor and screen.encoding.lower().startswith("utf") and is_large_enough


class ScreenView:
    """Draws on a terminal of at least 80 x 24; if it is wide, the log is next to the decision."""

    def __init__(self, screen: console.Console, speed: float | None) -> None:
        """Draw on `screen`; `speed` divides the pauses for viewers, and None omits them."""
        self._console = screen
        self._speed = speed
        self._title = text.Text()
        self._nodes: Sequence[node_state.NodeState] = ()
        self._pending: Sequence[str] = ()
        self._placed_last = ""
        self._log: list[text.Text] = []
        self._why: console.RenderableType = text.Text()
        self._live = live.Live(console=screen, screen=True, auto_refresh=False)

    def __enter__(self) -> Self:
        """Switch the terminal to the alternate screen."""
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Restore the terminal."""
        self._live.stop()

    def show_chapter(self, number: int, title: str, explanation: str) -> None:
        """Show the title and the explanation of a chapter."""
        self._title = text.Text.assemble(
            (" policysched demo ", "reverse"),
            (f" {number}. {title}", "bold"),
            (f"\n {explanation}", "dim"),
            no_wrap=True,
            overflow="ellipsis",
        )
        self._draw()

    def show_cluster(self, nodes: Sequence[node_state.NodeState], pending: Sequence[str]) -> None:
        """Show the nodes and the pending pods."""
        self._nodes, self._pending = nodes, pending
        self._draw()

    def show_decision(self, found: decision_facts.DecisionFacts) -> None:
        """Show the node of a pod and the reasons."""
        self._placed_last = found.pod.rsplit("/", 1)[-1]
        self._log.append(self._render_log_line(found))
        self._why = (
            _render_exclusion_reasons(found) if found.node is None else self._render_points(found)
        )

    def show_edit(self, file: str, diff: Sequence[str]) -> None:
        """Show the diff of a policy file."""
        styles = {"+": "green", "-": "red"}
        lines = [
            text.Text(line, styles.get(line[:1], "dim"), no_wrap=True, overflow="ellipsis")
            for line in diff
        ]
        self._log.append(text.Text(f"{file} is edited", "bold"))
        self._why = console.Group(text.Text(file, "bold"), *lines)
        self._draw()

    async def pause(self, seconds: float) -> None:
        """Wait for `seconds` divided by the speed, or not at all."""
        if self._speed is not None:
            await asyncio.sleep(seconds / self._speed)

    def show_end(self, lines: Sequence[str]) -> None:
        """Leave the last picture and the closing lines on the terminal."""
        self._live.stop()
        self._console.print(self._title, "", self._render_nodes(), "", *self._log, sep="\n")
        self._console.print("\n".join(["", *lines]), markup=False)

    # --- the picture ------------------------------------------------------------------------------

    def _draw(self) -> None:
        if self._live.is_started:
            self._live.update(self._render_screen(), refresh=True)

    def _render_screen(self) -> layouts.Layout:
        """Return the whole picture: the title, the nodes, the log and the latest decision."""
        lines = text.Text("\n", no_wrap=True, overflow="ellipsis")
        log_text = lines.join(self._log[-self._count_log_lines() :])
        # Instead of an empty text, a layout shows a box with its own name; a group is shown even if
        # its text is empty.
        log = layouts.Layout(console.Group(log_text), minimum_size=60)
        why = layouts.Layout(console.Group(self._why), ratio=2)
        below = layouts.Layout()
        if self._is_wide:
            below.split_row(log, why)
        else:
            log.size = _LOG_LINES
            below.split_column(log, why)
        picture = layouts.Layout()
        picture.split_column(
            layouts.Layout(self._title, size=3),
            layouts.Layout(self._render_nodes(), size=len(self._nodes) + 2),
            below,
        )
        return picture

    @property
    def _is_wide(self) -> bool:
        return self._console.width >= _WIDE

    @property
    def _line_count_below_nodes(self) -> int:
        """The number of lines below the table of nodes."""
        return max(_LOG_LINES, self._console.height - len(self._nodes) - 5)

    def _count_log_lines(self) -> int:
        return self._line_count_below_nodes if self._is_wide else _LOG_LINES - 1

    def _render_nodes(self) -> table.Table:
        """Return the table of nodes with their load and pods, and a row of pending pods."""
        drawn = table.Table(box=None, padding=(0, 2, 0, 0), expand=True)
        for header in ("NODE", "ZONE", "CPU REQUESTED", "MEMORY", "GPU", "BUSY"):
            drawn.add_column(header, no_wrap=True)
        drawn.add_column("PODS", no_wrap=True, ratio=1, overflow="ellipsis")
        for state in self._nodes:
            drawn.add_row(
                state.name,
                state.zone,
                self._render_bar(state.cpu_share, 8),
                self._render_bar(state.memory_share, 4),
                f"{state.gpus_requested}/{state.gpus}" if state.gpus else "-",
                "-" if state.busy_share is None else _format_percentage(state.busy_share),
                self._render_pods(state),
            )
        if self._pending:
            waits = text.Text("pending", "bold red")
            drawn.add_row(waits, "", "", "", "", "", text.Text(" ".join(self._pending), "bold red"))
        return drawn

    def _render_bar(self, share: float, width: int) -> text.Text:
        drawn = text_view.render_bar(share, width, _FULL, _EMPTY)
        return text.Text.assemble((drawn, _choose_load_colour(share)), f" {share:4.0%}")

    def _render_pods(self, state: node_state.NodeState) -> text.Text:
        parts = [text.Text(note, "dim") for note in text_view.format_cordon_and_taints(state)]
        parts += [
            text.Text(pod, "bold cyan" if pod == self._placed_last else "")
            for pod in reversed(state.pods)
        ]
        return text.Text(" ").join(parts)

    # --- the latest decision ----------------------------------------------------------------------

    def _render_log_line(self, found: decision_facts.DecisionFacts) -> text.Text:
        line = text.Text(no_wrap=True, overflow="ellipsis")
        line.append(found.pod, "bold")
        if found.node is None:
            return line.append(" fits nowhere", "bold red")
        line.append(" → ").append(found.node, "bold green")
        line.append(f"  {found.feasible} of {found.node_count} fit", "dim")
        return line.append(f"  {found.edit_effect}", "bold yellow") if found.edit_effect else line

    def _render_points(self, found: decision_facts.DecisionFacts) -> console.RenderableType:
        """Return the points of the chosen node and the runner-up, with the excluded nodes."""
        out = decision_facts.format_exclusions(found)
        if found.runner_up is None:
            return text.Text(f"{found.pod} fits only on {found.node}; rejected: {out}")
        drawn = _make_plain_table("points of " + found.pod.rsplit("/", 1)[-1], "left")
        drawn.add_column(found.node or "", justify="right", style="bold green")
        drawn.add_column(f"next: {found.runner_up}", justify="right")
        lines = self._line_count_below_nodes - (0 if self._is_wide else _LOG_LINES) - _FRAME_LINES
        for points in decision_facts.select_rule_points_rows(found, lines):
            style = "dim" if points.is_summary else ""
            chosen, runner_up = f"{points.chosen:g}", f"{points.runner_up:g}"
            drawn.add_row(text.Text(points.rule, style), chosen, runner_up)
        if not out:
            return drawn
        return console.Group(drawn, text.Text(f"rejected: {out}", "dim", no_wrap=True))


def _render_exclusion_reasons(found: decision_facts.DecisionFacts) -> console.RenderableType:
    """Return a table of the reasons that exclude nodes, for a pod that fits nowhere."""
    drawn = _make_plain_table("NODES", "right")
    for header in ("WHY NOT", "REJECTED BY"):
        drawn.add_column(header, no_wrap=True)
    drawn.add_column("WHICH", no_wrap=True, overflow="ellipsis", ratio=1)
    for excluded in found.excluded:
        count = str(len(excluded.nodes))
        drawn.add_row(count, excluded.reason, excluded.rule, ", ".join(excluded.nodes))
    for column in drawn.columns[:-1]:
        column.min_width = max(len(str(cell)) for cell in [column.header, *column.cells])
    return drawn


def _make_plain_table(first: str, justify: console.JustifyMethod) -> table.Table:
    drawn = table.Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    drawn.add_column(first, justify=justify, no_wrap=True)
    return drawn


def _format_percentage(share: float) -> text.Text:
    return text.Text(f"{share:4.0%}", _choose_load_colour(share))


def _choose_load_colour(share: float) -> str:
    if share >= _HOT:
        return "red"
    return "yellow" if share >= _WARM else "green"
