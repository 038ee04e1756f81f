"""What the shipped policies ask of a real Prometheus about network traffic."""

from __future__ import annotations

import pathlib

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from tests.policies import shipped
from tests.realcluster import prometheus

_AT_SECONDS = 1_000_000
_BYTES = {"receive": 100.0, "transmit": 300.0}
"""What the bond carries in a second; each of its cards has half of it, and its VLAN all."""
_SHARES = {"bond0": 1.0, "eth0": 0.5, "eth1": 0.5, "bond0.100": 1.0, "lo": 0.1}


def _openmetrics() -> str:
    """Return the counters of half an hour."""
    lines = []
    for way, bytes_per_second in _BYTES.items():
        name = f"node_network_{way}_bytes"
        lines.append(f"# TYPE {name} counter")
        for device, share in _SHARES.items():
            labels = f'{{device="{device}",instance="n1"}}'
            lines += [
                f"{name}_total{labels} {second * bytes_per_second * share} {_AT_SECONDS + second}"
                for second in range(0, 1801, 15)
            ]
    return "\n".join([*lines, "# EOF\n"])


@pytest.mark.e2e
@pytest.mark.parametrize(
    "policy, metric, expected",
    [
        pytest.param("node-load", "node_network", 300.0, id="the busier direction"),
        pytest.param("load-aware", "network_traffic", 400.0, id="both directions"),
    ],
)
def test_traffic_is_counted_once(
    tmp_path: pathlib.Path, policy: str, metric: str, expected: float
) -> None:
    """A bond and a VLAN carry what their cards carry; the sum of devices has it thrice."""
    text = (shipped.FOLDER / f"{policy}.policy").read_text(encoding="utf-8")
    program = checker.check([source.SourceText(policy, text)]).program
    assert program is not None
    (query,) = (each.promql for each in program.metrics if each.name == metric)
    with prometheus.Prometheus(tmp_path, openmetrics=_openmetrics()) as server:
        (answer,) = server.query(query, time=_AT_SECONDS + 1800)
    assert float(answer["value"][1]) == pytest.approx(expected)
