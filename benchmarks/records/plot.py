"""A plot of pods per second against nodes, as SVG, from a results file.

python -m benchmarks plot --results .bench/plot.jsonl --out docs/throughput.svg

A line for each scheduler and workload connects the medians; bars extend from the smallest to the
largest run. Both axes are logarithmic: equal ratios are equal distances.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import math
import pathlib
import statistics
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from xml.sax import saxutils

from benchmarks import options
from benchmarks.comparison import schedulers
from benchmarks.records import measurements, origins, results

_WIDTH, _HEIGHT = 760, 448
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 190, 44, 80
_COLOURS = {schedulers.KUBE_SCHEDULER: "#d9480f", schedulers.POLICYSCHED: "#1864ab"}
_DASHES = ("", "6 4", "2 3", "9 3 2 3")
_BEGIN = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
    'font-family="system-ui, sans-serif" font-size="12">'
)
_GRID, _TEXT = "#d0d4d9", "#22262a"
_CAPTION_CHARACTERS = 116
"""Maximum of a line in letters of 10 px; there is room for 3 lines."""


@dataclasses.dataclass(frozen=True)
class Line:
    """One scheduler on one workload.

    Attributes:
        speeds: pods per second of all runs, by number of nodes.
    """

    scheduler: str
    workload: str
    speeds: Mapping[int, Sequence[float]]


def lines(runs: Sequence[measurements.Measurement]) -> list[Line]:
    """Return the lines to draw: the backlogs that compare schedulers."""
    speeds: dict[tuple[str, str], dict[int, list[float]]] = {}
    for run in _select_backlogs(runs):
        by_nodes = speeds.setdefault((run.scheduler, run.case.workload), {})
        by_nodes.setdefault(run.case.nodes, []).append(run.pods_per_second)
    return [
        Line(name, workload, dict(sorted(by.items()))) for (name, workload), by in speeds.items()
    ]


def _select_backlogs(runs: Sequence[measurements.Measurement]) -> list[measurements.Measurement]:
    """Return the runs to draw."""
    compared = [run for run in runs if run.case.compares == "schedulers"]
    return [run for run in compared if not run.case.arrivals_per_second]


@dataclasses.dataclass(frozen=True)
class _Scale:
    """A logarithmic axis: from two values to two pixels."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.begin + share * (self.end - self.begin), 1)


def svg(drawn: Sequence[Line], caption: str) -> str:
    """Return the plot.

    Args:
        drawn: at least one line with at least two sizes.
        caption: lines below the plot, such as a description of the machine.
    """
    sizes = sorted({nodes for line in drawn for nodes in line.speeds})
    speeds = [speed for line in drawn for all_runs in line.speeds.values() for speed in all_runs]
    x = _Scale(sizes[0], sizes[-1], _LEFT, _WIDTH - _RIGHT)
    ticks = _make_ticks(min(speeds), max(speeds))
    y = _Scale(ticks[0], ticks[-1], _HEIGHT - _BOTTOM, _TOP)
    workloads = sorted({line.workload for line in drawn}, reverse=True)
    parts = [
        _BEGIN,
        f"<title>pods bound per second against nodes: {_escape(', '.join(_COLOURS))}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _make_text(_LEFT, 22, "Pods bound per second, by nodes in the cluster", size=15),
        *_draw_axes(x, y, sizes, ticks),
    ]
    for line in drawn:
        parts += _draw_line(line, x, y, _DASHES[workloads.index(line.workload) % len(_DASHES)])
    parts += _draw_labels(drawn, y)
    for number, line_of_text in enumerate(caption.splitlines()):
        parts.append(_make_text(_LEFT, _HEIGHT - 38 + 14 * number, line_of_text, size=10))
    return "\n".join([*parts, "</svg>", ""])


def _draw_axes(x: _Scale, y: _Scale, sizes: Sequence[int], ticks: Sequence[float]) -> Iterator[str]:
    for speed in ticks:
        at = y.at(speed)
        yield f'<path d="M{x.begin} {at}H{x.end}" stroke="{_GRID}" fill="none"/>'
        yield _make_text(x.begin - 8, at + 4, f"{speed:,g}", anchor="end")
    for nodes in sizes:
        at = x.at(nodes)
        yield f'<path d="M{at} {y.begin}V{y.end}" stroke="{_GRID}" fill="none"/>'
        yield _make_text(at, y.begin + 18, f"{nodes:,}", anchor="middle")


def _make_ticks(low: float, high: float) -> Sequence[float]:
    """Return 1, 2 and 5 times powers of ten between the bounds, and one beyond each bound."""
    steps = [digit * 10.0**exponent for exponent in range(-3, 7) for digit in (1, 2, 5)]
    begin = bisect.bisect_left(steps, low) - 1
    return steps[begin : bisect.bisect_right(steps, high) + 1]


def _draw_line(line: Line, x: _Scale, y: _Scale, dash: str) -> Iterator[str]:
    colour = _COLOURS.get(line.scheduler, _TEXT)
    points = [(x.at(nodes), y.at(statistics.median(runs))) for nodes, runs in line.speeds.items()]
    path = "M" + "L".join(f"{at} {height}" for at, height in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    yield f'<path d="{path}" stroke="{colour}" stroke-width="2" fill="none"{dashed}/>'
    for (at, height), runs in zip(points, line.speeds.values(), strict=True):
        bar = f"M{at} {y.at(min(runs))}V{y.at(max(runs))}"
        yield f'<path d="{bar}" stroke="{colour}" stroke-width="1" fill="none"/>'
        yield f'<circle cx="{at}" cy="{height}" r="3" fill="{colour}"/>'


def _draw_labels(drawn: Sequence[Line], y: _Scale) -> Iterator[str]:
    """Name each line at its end, from top to bottom, without overlaps."""
    ends = [(y.at(statistics.median(list(line.speeds.values())[-1])), line) for line in drawn]
    last = -math.inf
    for height, line in sorted(ends, key=lambda end: end[0]):
        last = max(height, last + 16)
        text = f"{line.scheduler}, {line.workload}"
        yield _make_text(
            _WIDTH - _RIGHT + 12, last + 4, text, colour=_COLOURS.get(line.scheduler, _TEXT)
        )


def _make_text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, colour: str = _TEXT
) -> str:
    place = f'x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
    return f"<text {place}>{_escape(text)}</text>"


def _escape(text: str) -> str:
    return saxutils.escape(text)


def caption(runs: Sequence[measurements.Measurement]) -> str:
    """Return the conditions of the runs, in lines that fit below the plot."""
    runs = _select_backlogs(runs)
    others = statistics.median(run.others_share for run in runs)
    stolen = [run.stolen_share for run in runs if run.stolen_share is not None]
    counts = [run.case.pods for run in runs]
    pods = " to ".join(f"{count:,}" for count in dict.fromkeys((min(counts), max(counts))))
    text = (
        f"Backlogs of {pods} pods; {_describe_repeats(runs)}. {runs[0].machine}; kube-apiserver "
        f"and etcd share the cores, and other programs used {others:.0%} of their time"
        f"{f', other machines {statistics.median(stolen):.0%}' if stolen else ''}."
    )
    return "\n".join(textwrap.wrap(text, _CAPTION_CHARACTERS))


def _describe_repeats(runs: Sequence[measurements.Measurement]) -> str:
    repeats = collections.Counter((run.case, run.scheduler) for run in runs)
    least, most = min(repeats.values()), max(repeats.values())
    if most == 1:
        return "one run each"
    count = f"{most}" if least == most else f"{least} to {most}"
    return f"medians of {count} runs, bars from least to most"


def _require_lines(runs: Sequence[measurements.Measurement]) -> list[Line]:
    """Return the lines with at least two points.

    Raises:
        results.ResultsError: there are none.
    """
    drawn = [line for line in lines(runs) if len(line.speeds) > 1]
    if not drawn:
        raise results.ResultsError("the results have no backlog at two numbers of nodes")
    return drawn


def _load_runs(file: pathlib.Path, *, all_versions: bool) -> Sequence[measurements.Measurement]:
    """Return the runs of a file that count, and print the number of excluded runs."""
    results.require(file)
    loaded = results.Results(file) if all_versions else results.Results(file, origins.judge())
    for reason, count in loaded.excluded.items():
        print(f"excluded: {count} runs {reason}; --all-versions draws them", file=sys.stderr)
    return loaded.measurements


def _check_out(out: pathlib.Path) -> None:
    """Check that an existing output file is a plot or empty.

    Raises:
        results.ResultsError: the file has other content.
    """
    if (
        out.is_file()
        and not out.read_bytes().startswith((b"<svg", b"<?xml"))
        and out.stat().st_size
    ):
        raise results.ResultsError(f"{out} is not a plot; choose another file with --out")


def main(argv: Sequence[str]) -> int:
    """Draw the plot of a results file."""
    parser = options.Parser(prog="python -m benchmarks plot", description=__doc__)
    parser.add_argument("--results", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="FILE.svg")
    parser.add_argument(
        "--all-versions", action="store_true", help="also draw runs of other versions"
    )
    args = parser.parse_args(argv)
    try:
        _check_out(args.out)
        runs = _load_runs(args.results, all_versions=args.all_versions)
        args.out.write_text(svg(_require_lines(runs), caption(runs)), encoding="utf-8")
    except (results.ResultsError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0
