"""Makes programs with facts about the cluster that their policies are for."""

from __future__ import annotations

import dataclasses

from policysched import clock as clocks
from policysched import errors
from policysched.lang import source
from policysched.language_server.project import cluster_data, programs
from policysched.lint import settings
from policysched.offline import lint_cluster
from policysched.plugins import registry


class ProgramMaker:
    """Makes programs; it keeps the facts about the cluster, which all of them share.

    Attributes:
        loaded: the data about the cluster.
    """

    def __init__(self, clock: clocks.Clock, loaded: cluster_data.LoadedClusterData) -> None:
        """Use the installed plugins; `clock` decides which rules have expired."""
        self.loaded = loaded
        self._clock = clock
        self._known: dict[frozenset[str], programs.ProgramEnvironment] = {}
        self._plugins = registry.create_installed_registry().list_plugin_names()

    def make_program(
        self, texts: tuple[source.SourceText, ...], chosen: settings.LintSettings
    ) -> programs.PolicyProgram:
        """Return a program whose facts include the annotations that its policies read."""
        program = programs.PolicyProgram(texts, chosen, self._get_environment(frozenset()))
        found = program.check_result.program
        keys = lint_cluster.list_annotation_keys_read(found) if found is not None else frozenset()
        # The annotation keys that the program reads are known only after a check, so check once
        # more with facts that contain them.
        if keys and self.loaded.objects is not None:
            return programs.PolicyProgram(texts, chosen, self._get_environment(keys))
        return program

    def _get_environment(self, keys: frozenset[str]) -> programs.ProgramEnvironment:
        """Return the environment with facts for these annotation keys, at the current time."""
        now = self._clock.now()
        if keys not in self._known:
            # Keep at most two environments: each contains the facts of a whole cluster.
            if len(self._known) > 1:
                self._known.clear()
            try:
                facts = cluster_data.make_cluster_facts(self.loaded, keys, now)
            except errors.InputError:  # the error was reported when the cluster was loaded
                facts = None
            self._known[keys] = programs.ProgramEnvironment(facts, self.loaded.words, self._plugins)
        return dataclasses.replace(self._known[keys], now_seconds=now.timestamp())
