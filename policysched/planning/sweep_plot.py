"""Draws the results of a sweep as SVG: lines for one axis, a grid of tiles for two axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax import saxutils

from policysched import errors
from policysched.planning import balance, sweep, sweep_axes

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 60, 90
_COLOURS = {"cpu": "#0b63b0", "memory": "#c2570c"}
_DASHES = {"cpu": "none", "memory": "6 4"}
_LINES = 4
_NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
_FONT = 'font-family="sans-serif" font-size="12"'
_MAX_AXES = 2
_MAX_LABEL = 24


def refuse_undrawable_axes(varied: Sequence[sweep_axes.SweepAxis]) -> None:
    """Refuse axes that cannot be drawn.

    Raises:
        UsageError: there are more than two axes.
    """
    if len(varied) > _MAX_AXES:
        raise errors.UsageError("--plot needs one or two --sweep")


def draw_sweep(
    varied: Sequence[sweep_axes.SweepAxis], results: Sequence[sweep.SweepPointResult]
) -> str:
    """Return an SVG image of a sweep over one or two axes."""
    points = [each for each in results if each.point is not None]
    body = (
        _draw_balance_lines(varied[0], points)
        if len(varied) == 1
        else _draw_balance_tiles(varied, points)
    )
    names = ", ".join(axis.name for axis in varied)
    return "\n".join(
        (
            f'<svg {_NAMESPACE} viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" {_FONT}>',
            f"<title>{_escape_for_xml(f'Imbalance by {names}', 200)}</title>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        )
    )


def _draw_balance_lines(
    axis: sweep_axes.SweepAxis, results: Sequence[sweep.SweepPointResult]
) -> Iterable[str]:
    """Yield lines of the coefficients of variation, with counts of hot nodes and pending pods."""
    spreads = [_get_coefficients_of_variation(each) for each in results]
    highest = max((max(each.values()) for each in spreads), default=0.0) or 1.0
    xs = [
        _compute_middle_of_part(i, len(results), _LEFT, _WIDTH - _RIGHT)
        for i in range(len(results))
    ]
    for step in range(_LINES + 1):
        y = _compute_y(step / _LINES)
        yield f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#dddddd"/>'
        yield _draw_text(_LEFT - 6, y + 4, f"{highest * step / _LINES:.3f}", "end")
    for place, resource in enumerate(balance.RESOURCES):
        line = " ".join(
            f"{x:.1f},{_compute_y(each[resource] / highest):.1f}"
            for x, each in zip(xs, spreads, strict=True)
        )
        colour, dash = _COLOURS[resource], _DASHES[resource]
        yield (
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dash}"/>'
        )
        for x, each in zip(xs, spreads, strict=True):
            y = _compute_y(each[resource] / highest)
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        yield _draw_text(_LEFT + 110 * place, 44, f"variation of {resource}", colour=colour)
    yield _draw_text(_LEFT, 22, axis.name, weight="bold")
    below = _HEIGHT - _BOTTOM + 20
    yield _draw_text(_LEFT - 6, below + 20, "hot nodes", "end")
    yield _draw_text(_LEFT - 6, below + 40, "pending", "end")
    for x, value, result in zip(xs, axis.values, results, strict=True):
        yield _draw_text(x, below, value, "middle")
        yield _draw_text(x, below + 20, str(result.balance.hot_nodes), "middle")
        yield _draw_text(x, below + 40, str(result.pending), "middle")


def _draw_balance_tiles(
    varied: Sequence[sweep_axes.SweepAxis], results: Sequence[sweep.SweepPointResult]
) -> Iterable[str]:
    """Yield a tile for each point; tiles of less balanced clusters are darker."""
    across, down = varied
    means = [
        sum(_get_coefficients_of_variation(each).values()) / len(balance.RESOURCES)
        for each in results
    ]
    low, high = min(means), max(means)
    width = (_WIDTH - _LEFT - _RIGHT) / len(across.values)
    height = (_HEIGHT - _TOP - _BOTTOM) / len(down.values)
    yield _draw_text(_LEFT, 22, f"across: {across.name}", weight="bold")
    yield _draw_text(_LEFT, 42, f"down: {down.name}; variation, (hot nodes, pending)")
    for number, (mean, each) in enumerate(zip(means, results, strict=True)):
        column, row = divmod(number, len(down.values))
        x, y = _LEFT + column * width, _TOP + row * height
        share = (mean - low) / (high - low) if high > low else 0.0
        shade = f"rgb({int(235 - 150 * share)},{int(242 - 120 * share)},{int(250 - 60 * share)})"
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{shade}" stroke="#ffffff"/>'
        )
        middle = y + height / 2
        yield _draw_text(x + width / 2, middle, f"{mean:.3f}", "middle")
        counts = f"({each.balance.hot_nodes}, {each.pending})"
        yield _draw_text(x + width / 2, middle + 14, counts, "middle")
    for column, value in enumerate(across.values):
        yield _draw_text(_LEFT + (column + 0.5) * width, _HEIGHT - _BOTTOM + 20, value, "middle")
    for row, value in enumerate(down.values):
        yield _draw_text(_LEFT - 6, _TOP + (row + 0.5) * height + 4, value, "end")


def _get_coefficients_of_variation(result: sweep.SweepPointResult) -> dict[str, float]:
    return {name: each.variation for name, each in result.balance.by_resource.items()}


def _compute_middle_of_part(number: int, count: int, low: float, high: float) -> float:
    """Return the middle of part `number` when low..high is divided into `count` equal parts."""
    return low + (number + 0.5) * (high - low) / count


def _compute_y(share: float) -> float:
    bottom = _HEIGHT - _BOTTOM
    return bottom - share * (bottom - _TOP)


def _draw_text(
    x: float,
    y: float,
    words: str,
    anchor: str = "start",
    *,
    colour: str = "#222222",
    weight: str = "normal",
) -> str:
    """Return an SVG text element; `anchor` is its horizontal alignment."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
        f'font-weight="{weight}">{_escape_for_xml(words, _MAX_LABEL * 3)}</text>'
    )


def _escape_for_xml(words: str, most: int) -> str:
    """Escape text for XML; truncate it to `most` characters and drop unprintable characters."""
    shown = "".join(each for each in words[:most] if each.isprintable())
    return saxutils.escape(shown)
