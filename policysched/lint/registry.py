"""The registry of lint rules, in the order of their codes."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import cast

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rules

_OF_CLUSTERS = "PS5"
_OF_PROMETHEUS = "PS6"


def list_offline_rules() -> tuple[rule.LintRule, ...]:
    """Return the rules that need only the policy texts."""
    return _select_rules(lambda code: not code.startswith((_OF_CLUSTERS, _OF_PROMETHEUS)))


def list_cluster_rules() -> tuple[rule.LintRule, ...]:
    """Return the rules that compare policies with a cluster."""
    return _select_rules(lambda code: code.startswith(_OF_CLUSTERS))


def list_prometheus_rules() -> tuple[rule.LintRule, ...]:
    """Return the rules that compare queries with the answers of a Prometheus server."""
    return _select_rules(lambda code: code.startswith(_OF_PROMETHEUS))


def _select_rules(is_wanted: Callable[[str], bool]) -> tuple[rule.LintRule, ...]:
    """Return the constant `RULE` of the module of each selected code."""
    return tuple(_load_rule(code) for code in sorted(diagnostics.LINT_CODES) if is_wanted(code))


@functools.cache
def _load_rule(code: str) -> rule.LintRule:
    module = importlib.import_module(map_codes_to_modules()[code])
    return cast("rule.LintRule", module.RULE)


@functools.cache
def map_codes_to_modules() -> Mapping[str, str]:
    """Map each code to its module, PS204 to the one whose name ends in `.ps204_shadowed_rule`."""
    found = pkgutil.walk_packages(rules.__path__, f"{rules.__name__}.")
    names = (module.name for module in found if not module.ispkg)
    return {name.rpartition(".")[2].partition("_")[0].upper(): name for name in names}
