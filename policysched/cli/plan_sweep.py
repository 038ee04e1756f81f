"""`plan --sweep`: a table of what becomes of a cluster when weights and params are varied."""

from __future__ import annotations

import argparse
import pathlib
from typing import TYPE_CHECKING, Any

from policysched import errors
from policysched.cli import output, progress

if TYPE_CHECKING:
    from policysched.app import cluster_file
    from policysched.planning import axes, sweep, world

_ALL, _PENDING = "all", "pending"
_WRITTEN = "as written"
_COLUMNS = ("CPU CV", "SPREAD", "MEMORY CV", "SPREAD", "HOT", "PENDING", "BROKEN", "MOVED")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("what to vary")
    group.add_argument(
        "--sweep",
        metavar="WHAT=V,V",
        action="append",
        help="instead of a plan: simulate NEW with each weight of a rule "
        "(`web/low-cpu.weight=0,20,50`) or value of a param (`params.hot=60%%,80%%`); repeatable, "
        "all combinations are tried",
    )
    group.add_argument(
        "--place",
        choices=(_ALL, _PENDING),
        default=_ALL,
        help="which pods a sweep places: all, as if created again (the default), or those pending",
    )
    group.add_argument(
        "--hot", type=_share, default=0.8, metavar="SHARE", help="a node is hot from here; 80%%"
    )
    group.add_argument("--plot", metavar="FILE.svg", help="draw the results of one or two --sweep")


def run(
    args: argparse.Namespace,
    basis: world.Basis,
    objects: cluster_file.ClusterObjects,
    where: str,
) -> int:
    """Print the table, and draw it if asked to."""
    from policysched.app import process  # noqa: PLC0415 - `--help` does without NumPy
    from policysched.planning import axes, plot, sweep  # noqa: PLC0415 - as above

    varied = axes.parse(args.sweep)
    points = list(axes.points(varied))
    if args.plot is not None:
        plot.require(varied)
    settings = sweep.Settings(places_all=args.place == _ALL, hot=args.hot)
    sweeping = sweep.Sweep(basis, objects, where, settings)
    with progress.shown("sweeping", len(points) + 1) as bar, process.without_collections():
        results = list(sweeping.results(points, bar.advance))
    if args.plot is not None:
        _save(args.plot, plot.draw(varied, results))
    report = _report(args, basis, where, varied, results)
    output.write(output.as_json(report) if args.output == output.JSON else _text(report, args))
    return errors.EXIT_OK


def _save(path: str, picture: str) -> None:
    try:
        pathlib.Path(path).write_text(picture, encoding="utf-8")
    except OSError as error:
        raise errors.InputError(path, f"cannot be written: {error.strerror}") from error


def _report(
    args: argparse.Namespace,
    basis: world.Basis,
    where: str,
    varied: list[axes.Axis],
    results: list[sweep.Result],
) -> dict[str, Any]:
    return {
        "to": basis.new.name,
        "cluster": where,
        "now": basis.now.isoformat(),
        "place": args.place,
        "hot": args.hot,
        "axes": [{"name": axis.name, "values": list(axis.values)} for axis in varied],
        "written": _result(results[0]),
        "points": [{"values": dict(each.point or {}), **_result(each)} for each in results[1:]],
    }


def _result(result: sweep.Result) -> dict[str, Any]:
    return {
        **{
            name: {
                "mean": round(each.mean, 6),
                "variation": round(each.variation, 6),
                "spread": round(each.spread, 6),
            }
            for name, each in result.balance.by_resource.items()
        },
        "hotNodes": result.balance.hot_nodes,
        "pending": result.pending,
        "broken": result.broken,
        "moved": result.moved,
    }


def _text(report: dict[str, Any], args: argparse.Namespace) -> str:
    names = [axis["name"] for axis in report["axes"]]
    written = (_WRITTEN, *("" for _ in names[1:]))
    rows = [
        (*written, *_cells(report["written"])),
        *((*(each["values"][name] for name in names), *_cells(each)) for each in report["points"]),
    ]
    if args.output == "markdown":
        lines = [(*names, *_COLUMNS), tuple("---" for _ in (*names, *_COLUMNS)), *rows]
        return "\n".join("| " + " | ".join(_cell(c) for c in line) + " |" for line in lines)
    return output.table((*names, *_COLUMNS), rows)


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


def _cells(result: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{result['cpu']['variation']:.3f}",
        f"{result['cpu']['spread']:.1%}",
        f"{result['memory']['variation']:.3f}",
        f"{result['memory']['spread']:.1%}",
        *(f"{result[key]:,}" for key in ("hotNodes", "pending", "broken", "moved")),
    )


def _share(text: str) -> float:
    """Return a share such as 80% or 0.8."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    share = number / 100 if text.endswith("%") else number
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"`{text}` is no share such as 80%")
    return share
