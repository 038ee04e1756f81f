"""Checks the plugins of profiles: their names, and their arguments as `run` receives them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from policysched.config import config
    from policysched.lang import source
    from policysched.lang.checking import checker
    from policysched.lang.diagnostics import diagnostics
    from policysched.profiles import plugin_sets


def find_installed_plugin_names(texts: Sequence[source.SourceText]) -> Collection[str] | None:
    """Return the names of installed plugins; None if no text can contain a profile."""
    if not any("profile" in text.text for text in texts):
        return None
    from policysched.plugins import registry  # noqa: PLC0415 - only profiles need the plugins

    return registry.create_installed_registry().list_plugin_names()


def check_plugin_arguments(
    result: checker.CheckResult,
    texts: Sequence[source.SourceText],
    params: Mapping[str, str],
    configuration: config.Config | None = None,
) -> checker.CheckResult:
    """Return the result, without its program if a profile in the texts could not start.

    Raises:
        ConfigurationError: a profile could not start for a reason outside the texts.
    """
    if result.program is None:
        return result
    from policysched.framework import handles  # noqa: PLC0415 - only profiles need the plugins
    from policysched.profiles import policies  # noqa: PLC0415 - only profiles need NumPy

    policy_set = policies.make_policy_set_from_texts(texts, params, None, configuration)
    made = policies.make_profiles(policy_set, handles.Handle())
    if not isinstance(made, list):
        return result
    profiles = result.program.profiles
    places = [each.span for each in profiles]
    places += [plugin.span for each in profiles for plugin in each.plugins]
    spans = {str(span): span for span in places if span is not None}
    found = tuple(
        _make_plugin_diagnostic(each, spans[each.where]) for each in made if each.where in spans
    )
    if len(found) < len(made):
        policies.require_profiles(made)
    return dataclasses.replace(result, program=None, diagnostics=(*found, *result.diagnostics))


def _make_plugin_diagnostic(
    fault: plugin_sets.PluginSetFault, span: source.Span
) -> diagnostics.Diagnostic:
    from policysched.lang.diagnostics import diagnostics  # noqa: PLC0415 - only faults need it

    return diagnostics.Diagnostic("PS111", fault.problem, span, help=fault.help)
