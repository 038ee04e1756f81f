"""A plot of pods a second against nodes, as SVG, from a file of results.

python -m benchmarks plot --results .bench/plot.jsonl --out docs/throughput.svg

A line for each scheduler and workload through the medians, with bars from the smallest to the
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

from benchmarks import measurements, options, origins, results, schedulers

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
"""Of a line, in letters of 10 px: 3 lines have room."""


@dataclasses.dataclass(frozen=True)
class Line:
    """One scheduler on one workload.

    Attributes:
        speeds: of all runs, by number of nodes.
    """

    scheduler: str
    workload: str
    speeds: Mapping[int, Sequence[float]]


def lines(made: Sequence[measurements.Measurement]) -> list[Line]:
    """Return what there is to draw: backlogs that compare schedulers."""
    speeds: dict[tuple[str, str], dict[int, list[float]]] = {}
    for one in _backlogs(made):
        by_nodes = speeds.setdefault((one.scheduler, one.case.workload), {})
        by_nodes.setdefault(one.case.nodes, []).append(one.pods_per_second)
    return [
        Line(name, workload, dict(sorted(by.items()))) for (name, workload), by in speeds.items()
    ]


def _backlogs(made: Sequence[measurements.Measurement]) -> list[measurements.Measurement]:
    """Return the runs that are drawn."""
    compared = [one for one in made if one.case.compares == "schedulers"]
    return [one for one in compared if not one.case.arrivals_per_second]


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
        caption: two lines below, such as what machine this was.
    """
    sizes = sorted({nodes for line in drawn for nodes in line.speeds})
    speeds = [speed for line in drawn for all_runs in line.speeds.values() for speed in all_runs]
    x = _Scale(sizes[0], sizes[-1], _LEFT, _WIDTH - _RIGHT)
    ticks = _ticks(min(speeds), max(speeds))
    y = _Scale(ticks[0], ticks[-1], _HEIGHT - _BOTTOM, _TOP)
    workloads = sorted({line.workload for line in drawn}, reverse=True)
    parts = [
        _BEGIN,
        f"<title>pods bound a second against nodes: {_escaped(', '.join(_COLOURS))}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 22, "Pods bound a second, by nodes in the cluster", size=15),
        *_axes(x, y, sizes, ticks),
    ]
    for line in drawn:
        parts += _drawn(line, x, y, _DASHES[workloads.index(line.workload) % len(_DASHES)])
    parts += _labels(drawn, y)
    for number, line_of_text in enumerate(caption.splitlines()):
        parts.append(_text(_LEFT, _HEIGHT - 38 + 14 * number, line_of_text, size=10))
    return "\n".join([*parts, "</svg>", ""])


def _axes(x: _Scale, y: _Scale, sizes: Sequence[int], ticks: Sequence[float]) -> Iterator[str]:
    for speed in ticks:
        at = y.at(speed)
        yield f'<path d="M{x.begin} {at}H{x.end}" stroke="{_GRID}" fill="none"/>'
        yield _text(x.begin - 8, at + 4, f"{speed:,g}", anchor="end")
    for nodes in sizes:
        at = x.at(nodes)
        yield f'<path d="M{at} {y.begin}V{y.end}" stroke="{_GRID}" fill="none"/>'
        yield _text(at, y.begin + 18, f"{nodes:,}", anchor="middle")


def _ticks(low: float, high: float) -> Sequence[float]:
    """Return 1, 2 and 5 times powers of ten: those between the bounds, and one outside of each."""
    steps = [digit * 10.0**exponent for exponent in range(-3, 7) for digit in (1, 2, 5)]
    begin = bisect.bisect_left(steps, low) - 1
    return steps[begin : bisect.bisect_right(steps, high) + 1]


def _drawn(line: Line, x: _Scale, y: _Scale, dash: str) -> Iterator[str]:
    colour = _COLOURS.get(line.scheduler, _TEXT)
    points = [(x.at(nodes), y.at(statistics.median(runs))) for nodes, runs in line.speeds.items()]
    path = "M" + "L".join(f"{at} {height}" for at, height in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    yield f'<path d="{path}" stroke="{colour}" stroke-width="2" fill="none"{dashed}/>'
    for (at, height), runs in zip(points, line.speeds.values(), strict=True):
        bar = f"M{at} {y.at(min(runs))}V{y.at(max(runs))}"
        yield f'<path d="{bar}" stroke="{colour}" stroke-width="1" fill="none"/>'
        yield f'<circle cx="{at}" cy="{height}" r="3" fill="{colour}"/>'


def _labels(drawn: Sequence[Line], y: _Scale) -> Iterator[str]:
    """Name each line at its end, from top to bottom, none over another."""
    ends = [(y.at(statistics.median(list(one.speeds.values())[-1])), one) for one in drawn]
    last = -math.inf
    for height, line in sorted(ends, key=lambda end: end[0]):
        last = max(height, last + 16)
        text = f"{line.scheduler}, {line.workload}"
        yield _text(
            _WIDTH - _RIGHT + 12, last + 4, text, colour=_COLOURS.get(line.scheduler, _TEXT)
        )


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, colour: str = _TEXT
) -> str:
    place = f'x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
    return f"<text {place}>{_escaped(text)}</text>"


def _escaped(text: str) -> str:
    return saxutils.escape(text)


def caption(made: Sequence[measurements.Measurement]) -> str:
    """Return what a reader has to know about the runs that are drawn, in lines that have room."""
    made = _backlogs(made)
    others = statistics.median(one.others_share for one in made)
    stolen = [one.stolen_share for one in made if one.stolen_share is not None]
    counts = [one.case.pods for one in made]
    pods = " to ".join(f"{count:,}" for count in dict.fromkeys((min(counts), max(counts))))
    text = (
        f"Backlogs of {pods} pods; {_told_repeats(made)}. {made[0].machine}; kube-apiserver and "
        f"etcd share the cores, and programs beside the comparison took {others:.0%} of their time"
        f"{f', other machines {statistics.median(stolen):.0%}' if stolen else ''}."
    )
    return "\n".join(textwrap.wrap(text, _CAPTION_CHARACTERS))


def _told_repeats(made: Sequence[measurements.Measurement]) -> str:
    repeats = collections.Counter((one.case, one.scheduler) for one in made)
    least, most = min(repeats.values()), max(repeats.values())
    if most == 1:
        return "one run each"
    runs = f"{most}" if least == most else f"{least} to {most}"
    return f"medians of {runs} runs, bars from least to most"


def _drawable(made: Sequence[measurements.Measurement]) -> list[Line]:
    """Return the lines that have a length.

    Raises:
        results.ResultsError: there are none.
    """
    drawn = [line for line in lines(made) if len(line.speeds) > 1]
    if not drawn:
        raise results.ResultsError("the results have no backlog at two numbers of nodes")
    return drawn


def _made(file: pathlib.Path, *, all_versions: bool) -> Sequence[measurements.Measurement]:
    """Return the runs of a file that belong together, and tell how many others it has."""
    results.require(file)
    kept = results.Results(file) if all_versions else results.Results(file, origins.judge())
    for reason, count in kept.left_out.items():
        print(f"left out: {count} runs {reason}; --all-versions draws them", file=sys.stderr)
    return kept.measurements


def _check_out(out: pathlib.Path) -> None:
    """Return where nothing but a plot would be overwritten.

    Raises:
        results.ResultsError: the file holds something else.
    """
    if (
        out.is_file()
        and not out.read_bytes().startswith((b"<svg", b"<?xml"))
        and out.stat().st_size
    ):
        raise results.ResultsError(
            f"{out} holds something else than a plot; --out names another file"
        )


def main(argv: Sequence[str]) -> int:
    """Draw what a file of results has."""
    parser = options.Parser(prog="python -m benchmarks plot", description=__doc__)
    parser.add_argument("--results", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="FILE.svg")
    parser.add_argument(
        "--all-versions", action="store_true", help="draw runs whatever they were made with"
    )
    args = parser.parse_args(argv)
    try:
        _check_out(args.out)
        made = _made(args.results, all_versions=args.all_versions)
        args.out.write_text(svg(_drawable(made), caption(made)), encoding="utf-8")
    except (results.ResultsError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0
