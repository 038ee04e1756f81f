"""`plan --sweep`: show how a cluster changes when weights and params are varied."""

from __future__ import annotations

import argparse
import pathlib
from typing import TYPE_CHECKING, Any

from policysched import errors
from policysched.cli.render import output, progress

if TYPE_CHECKING:
    from policysched.inputs import cluster_file
    from policysched.planning import sweep, sweep_axes, two_sided_cluster

_ALL, _PENDING = "all", "pending"
_HOT = 0.8
_MARKDOWN = "markdown"
_WRITTEN = "as written"
_COLUMNS = ("CPU CV", "SPREAD", "MEMORY CV", "SPREAD", "HOT", "PENDING", "BROKEN", "MOVED")


def add_sweep_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("sweep")
    group.add_argument(
        "--sweep",
        metavar="WHAT=V,V",
        action="append",
        help="instead of a plan, simulate NEW with each weight of a rule "
        "(`web/low-cpu.weight=0,20,50`) or value of a param (`params.hot=60%%,80%%`); "
        "repeatable: all combinations are tried",
    )
    group.add_argument(
        "--place",
        choices=(_ALL, _PENDING),
        help=(
            "pods that a sweep places: all, as if created again (the default), or only pending ones"
        ),
    )
    group.add_argument(
        "--hot",
        type=_parse_share_of_nodes,
        metavar="SHARE",
        help="share of a resource at or above which a node counts as hot (default: 80%%)",
    )
    group.add_argument(
        "--plot",
        metavar="FILE.svg",
        help="write a picture (SVG) of the results of one or two --sweep",
    )


def read_sweep_axes(args: argparse.Namespace) -> list[sweep_axes.SweepAxis]:
    """Return the axes to vary before any input is read; an empty list without `--sweep`.

    Raises:
        UsageError: options are mutually exclusive, or a `--sweep` is invalid.
    """
    from policysched.planning import sweep_axes, sweep_plot  # noqa: PLC0415 - `--help` does not need NumPy

    alone, without = ("--place", "--hot", "--plot"), ("--from", "--from-params", "--fail-on")
    given = {
        "--place": args.place,
        "--hot": args.hot,
        "--plot": args.plot,
        "--from": args.old,
        "--from-params": args.from_params,
        "--fail-on": args.fail_on,
    }
    for option in without if args.sweep else alone:
        if given[option]:
            what = "cannot be used with --sweep" if args.sweep else "needs --sweep"
            raise errors.UsageError(f"{option} {what}")
    varied = sweep_axes.parse_sweep_axes(args.sweep or ())
    if args.plot is not None:
        sweep_plot.refuse_undrawable_axes(varied)
    return varied


def run(
    args: argparse.Namespace,
    varied: list[sweep_axes.SweepAxis],
    basis: two_sided_cluster.PlanInputs,
    objects: cluster_file.ClusterObjects,
    where: str,
) -> int:
    """Print the table, and write the picture if `--plot` is given."""
    from policysched import process  # noqa: PLC0415 - `--help` does not need NumPy
    from policysched.planning import sweep, sweep_axes, sweep_plot  # noqa: PLC0415 - as above

    points = list(sweep_axes.generate_sweep_points(varied))
    settings = sweep.SweepSettings(places_all=args.place != _PENDING, hot=args.hot or _HOT)
    sweeping = sweep.SweepSimulation(basis, objects, where, settings)
    with (
        progress.show_progress("sweeping", len(points) + 1) as bar,
        process.pause_garbage_collection(),
    ):
        results = list(sweeping.simulate_points(points, bar.advance))
    report = _make_sweep_report(settings, basis, where, varied, results)
    if args.output == output.JSON:
        output.write_text(output.encode_json(report))
    elif args.output == _MARKDOWN:
        output.write_text(_format_sweep_markdown(report))
    else:
        output.write_report(_format_sweep_text(report))
    if args.plot is not None:
        _write_sweep_chart(args.plot, sweep_plot.draw_sweep(varied, results))
    return errors.EXIT_OK


def _write_sweep_chart(path: str, picture: str) -> None:
    try:
        pathlib.Path(path).write_text(picture, encoding="utf-8")
    except OSError as error:
        raise errors.InputError(path, f"cannot be written: {error.strerror}") from error


def _make_sweep_report(
    settings: sweep.SweepSettings,
    basis: two_sided_cluster.PlanInputs,
    where: str,
    varied: list[sweep_axes.SweepAxis],
    results: list[sweep.SweepPointResult],
) -> dict[str, Any]:
    """Return the JSON form of a sweep."""
    return {
        "to": basis.new.name,
        "cluster": where,
        "now": basis.now.isoformat(),
        "place": _ALL if settings.places_all else _PENDING,
        "hot": settings.hot,
        "axes": [{"name": axis.name, "values": list(axis.values)} for axis in varied],
        "written": _render_sweep_result(results[0]),
        "points": [
            {"values": dict(each.point or {}), **_render_sweep_result(each)} for each in results[1:]
        ],
    }


def _render_sweep_result(result: sweep.SweepPointResult) -> dict[str, Any]:
    """Return the measurements at one point, with shares rounded to six decimal places."""
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


def _format_sweep_markdown(report: dict[str, Any]) -> str:
    header, rows = _make_sweep_table(report)
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(
        "| " + " | ".join(_escape_table_cell(c) for c in line) + " |" for line in lines
    )


def _format_sweep_text(report: dict[str, Any]) -> str:
    return output.format_table(*_make_sweep_table(report))


def _make_sweep_table(report: dict[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the header and the rows: the policies as written first, then each combination."""
    names = [axis["name"] for axis in report["axes"]]
    written = (_WRITTEN, *("" for _ in names[1:]))
    rows = [
        (*written, *_format_sweep_cells(report["written"])),
        *(
            (*(each["values"][name] for name in names), *_format_sweep_cells(each))
            for each in report["points"]
        ),
    ]
    return (*names, *_COLUMNS), rows


def _escape_table_cell(words: str) -> str:
    return words.replace("|", "\\|")


def _format_sweep_cells(result: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{result['cpu']['variation']:.3f}",
        f"{result['cpu']['spread']:.1%}",
        f"{result['memory']['variation']:.3f}",
        f"{result['memory']['spread']:.1%}",
        *(f"{result[key]:,}" for key in ("hotNodes", "pending", "broken", "moved")),
    )


def _parse_share_of_nodes(text: str) -> float:
    """Parse a share such as 80% or 0.8."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    share = number / 100 if text.endswith("%") else number
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a share such as 80%")
    return share
