"""Configurations that nobody meant: each is read, or refused with a line, and nothing else."""

from __future__ import annotations

import copy
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from policysched import errors
from policysched.config import config, config_printing, config_reading

WHOLE: dict[str, Any] = config_reading.HEAD | {
    "policies": {"configMap": "ns/name", "onBadStart": "lastGood", "history": "ns/h", "keep": 2},
    "params": {"a": "1"},
    "profiles": [
        {
            "schedulerName": "p",
            "plugins": [
                {"name": "NodeResourcesFit", "weight": 2, "args": {"ignoredResources": ["a/b"]}}
            ],
            "disabled": ["ImageLocality"],
            "disabledScores": ["TaintToleration"],
        }
    ],
    "extenders": [
        {
            "urlPrefix": "http://me:password@h",
            "prioritizeVerb": "p",
            "weight": 2,
            "tlsConfig": {"certFile": "c", "keyData": "YQ=="},
            "httpTimeout": "2s",
            "managedResources": [{"name": "a/b", "ignoredByScheduler": True}],
        }
    ],
    "podInitialBackoffSeconds": 1,
    "parallelBinds": 3,
    "prometheus": {
        "p": {
            "url": "http://h",
            "basicAuth": {"username": "u", "password": "p"},
            "tls": {"caFile": "c"},
            "headers": {"a": "b"},
        }
    },
    "leaderElection": {"leaderElect": True, "leaseDuration": "20s"},
    "clientConnection": {"qps": 5, "burst": 3},
    "serving": {"secureAddress": "[::1]:1", "authorization": {"alwaysAllowPaths": ["/a"]}},
    "tracing": {"endpoint": "http://h:1", "samplingRatePerMillion": 5},
    "features": {"OpportunisticBatching": False},
}

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["", "0s", "-1s", "1e400", "http://[", "a/b/c", "[::1]:99999", "*", "é"])
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    found = []
    for key in keys:
        found.append((*path, key))
        if isinstance(value[key], dict | list):
            found += _paths(value[key], (*path, key))
    return found


PATHS = _paths(WHOLE)


def _changed(changes: dict[tuple[Any, ...], Any]) -> dict[str, Any]:
    """Return WHOLE with other values at some places, as far as these are still there."""
    made = copy.deepcopy(WHOLE)
    for path, value in changes.items():
        group: Any = made
        for key in path[:-1]:
            group = group.get(key) if isinstance(group, dict) else group[0] if group else None
            if not isinstance(group, dict | list):
                break
        else:
            if isinstance(group, dict):
                group[path[-1]] = value
            elif group:
                group[0] = value
    return made


def test_the_whole_one_is_good() -> None:
    """What is changed below begins as a configuration with nearly all fields."""
    assert config_reading.parse_config(yaml.safe_dump(WHOLE), "c.yaml").parallel_binds == 3


@given(st.dictionaries(st.sampled_from(PATHS), _VALUES, min_size=1, max_size=3))
def test_it_is_read_or_refused_with_a_line(changes: dict[tuple[Any, ...], Any]) -> None:
    """Whatever stands anywhere: no other exception, and what is read can be printed and read."""
    found = _read(yaml.safe_dump(_changed(changes), allow_unicode=True))
    if isinstance(found, config.Config):
        config_reading.parse_config(config_printing.format_config_yaml(found), "printed.yaml")
    else:
        assert all(line.startswith("c.yaml") for line in found.split("\n"))


def _read(text: str) -> config.Config | str:
    try:
        return config_reading.parse_config(text, "c.yaml")
    except errors.InputError as error:
        return str(error)
