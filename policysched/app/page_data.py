"""The pages below /debug/ from which `policysched ui --decisions` follows this process."""

from __future__ import annotations

import functools
import platform
from collections.abc import Awaitable, Callable, Mapping

import msgspec

import policysched
from policysched.app import context
from policysched.kube import config_maps
from policysched.leadership import election
from policysched.observability import decision_page
from policysched.observability.live_page import (
    debug_forms,
    decision_rows,
    explain_page,
    lead_counts,
    map_page,
    node_page,
    queue_page,
    rule_counts,
    rules_without_samples,
)
from policysched.reload import state as states
from policysched.reload import version_log
from policysched.serving import http_server, json_answers, query_parameters

ANSWERS_ROOT = "/debug/page/"
"""The answers for the page below /ui/, which need the rights of other debug pages."""
_MAX_STATUS_ERROR_CHARACTERS = 1000
_MAX_STATUS_ROLLOUT_CHARACTERS = 200


def add_page_data(components: context.ProcessComponents) -> None:
    """Add the pages, and count the rejections of rules."""
    started_at = components.clock.now().isoformat()
    scheduler = components.scheduler
    counts = rule_counts.RuleCounts()
    leads = lead_counts.LeadCounts(scheduler.decisions)
    scheduler.decisions.end_listeners.append(counts.count_attempt)
    components.policies.listeners.append(lambda event: _reset_counts(counts, event))
    lost = rules_without_samples.RulesWithoutSamples(
        lambda: components.profiles.current.by_name, scheduler.events.pods
    )
    scheduler.decisions.listeners.append(lost.record_skipped_rules)
    versions = _make_version_log(components)
    status = _StatusPage(components, versions, lost, started_at)
    columns = map_page.MapPage(
        scheduler.cache.snapshot,
        lambda: components.profiles.policy_set.node_metrics,
        components.clock,
    )
    pages: dict[str, http_server.MakePage] = {
        decision_page.PATH: _make_decisions_page(components, started_at),
        debug_forms.STATUS_PATH: _without_parameters(status.make_page),
        debug_forms.QUEUE_PATH: queue_page.QueuePage(scheduler, components.clock).make_page,
        debug_forms.VERSIONS_PATH: _without_parameters(versions.make_page),
        debug_forms.RULES_PATH: _without_parameters(
            lambda: _make_rules_page(components, counts, leads)
        ),
        debug_forms.EXPLAIN_PATH: explain_page.ExplainPage(scheduler, components.clock).make_page,
        debug_forms.CLUSTER_PATH: columns.make_page,
        debug_forms.NODE_PATH: functools.partial(_make_node_page, components),
    }
    for path, make in pages.items():
        components.pages[path] = query_parameters.answer_query_errors(make)
    if components.config.serving.page:
        _add_own_page(components)


def _add_own_page(components: context.ProcessComponents) -> None:
    """Add the answers for the page that this process serves itself."""
    from policysched.observability.live_page import live_answers, scheduler_pages  # noqa: PLC0415 - imports words of the language, which a process without policies does not need

    pages = scheduler_pages.OwnPages(components.pages)
    answers = live_answers.LiveAnswers(pages, "this scheduler")
    components.pages |= answers.make_pages(ANSWERS_ROOT)


def _reset_counts(counts: rule_counts.RuleCounts, event: states.ReloadEvent) -> None:
    if event.outcome is states.OfferOutcome.LOADED:
        counts.reset()


def _without_parameters(
    make: Callable[[], msgspec.Struct | Awaitable[msgspec.Struct]],
) -> http_server.MakePage:
    """Return a page of JSON that takes no parameters."""

    async def make_page(query: http_server.QueryParameters) -> http_server.HttpPage:
        query_parameters.check_names(query, ())
        made = make()
        return json_answers.make_json_answer(
            made if isinstance(made, msgspec.Struct) else await made
        )

    return make_page


def _make_decisions_page(
    components: context.ProcessComponents, started_at: str
) -> http_server.MakePage:
    """Return the page of records, or of rows if the client asks for that form."""
    log = components.scheduler.decisions
    records = decision_page.DecisionPage(log, components.config.decisions.kept)
    rows = decision_rows.RowsPage(
        decision_rows.DecisionRows(log, started_at), components.stopping.is_set
    )
    return lambda query: rows.make_page(query) if "form" in query else records.make_page(query)


def _make_version_log(components: context.ProcessComponents) -> version_log.VersionLog:
    name = components.config.policies.history_config_map
    if not name:
        return version_log.VersionLog(components.policies, components.clock)
    store = config_maps.ConfigMapClient(components.api)
    namespace, _, short_name = name.partition("/")

    async def read_history() -> Mapping[str, bytes]:
        found = await store.read_config_map(namespace, short_name)
        return {} if found is None else found.binary_data

    return version_log.VersionLog(components.policies, components.clock, name, read_history)


def _make_rules_page(
    components: context.ProcessComponents,
    counts: rule_counts.RuleCounts,
    leads: lead_counts.LeadCounts,
) -> debug_forms.RulesDocument:
    from policysched.observability.live_page import rules_page  # noqa: PLC0415 - imports the compiler

    current = components.policies.current
    profiles = components.profiles.current.by_name
    since = current.loaded_at.isoformat()
    leads.update(current.hash)
    return rules_page.make_rules_page(current.hash, since, profiles, counts, leads)


def _make_node_page(
    components: context.ProcessComponents, query: http_server.QueryParameters
) -> http_server.HttpPage:
    query_parameters.check_names(query, ("name",))
    metrics = components.profiles.policy_set.node_metrics
    try:
        found = node_page.make_node_page(components.scheduler.cache, metrics, query.get_one("name"))
    except LookupError:  # status 404 would say that the process is older than this page
        return http_server.HttpPage(b"there is no such node\n", status=410)
    return json_answers.make_json_answer(found)


class _StatusPage:
    """Makes the page with the state of the process."""

    def __init__(
        self,
        components: context.ProcessComponents,
        versions: version_log.VersionLog,
        lost: rules_without_samples.RulesWithoutSamples,
        started_at: str,
    ) -> None:
        self._components = components
        self._versions = versions
        self._lost = lost
        self._started_at = started_at
        self._lease = _format_lease_name(components)

    def make_page(self) -> debug_forms.StatusDocument:
        """Return the state now."""
        components, policies = self._components, self._components.policies
        cache = components.scheduler.cache
        return debug_forms.StatusDocument(
            form=debug_forms.FORM,
            version=policysched.__version__,
            process=platform.node(),
            namespace=components.connection.own_namespace,
            started_at=self._started_at,
            is_leading=components.elector.is_leading,
            is_dry_run=components.options.dry_run,
            lease=self._lease,
            lease_holder=components.elector.holder,
            origin=policies.origin,
            hash=policies.current.hash,
            since=policies.current.loaded_at.isoformat(),
            is_frozen=policies.is_frozen,
            refused=version_log.make_refused_version(policies, _MAX_STATUS_ERROR_CHARACTERS),
            profiles=list(components.profiles.current.by_name),
            nodes=cache.nodes.alive_count,
            placed=cache.pod_count,
            pending=components.scheduler.queue.count_pending_pods(),
            decisions=components.scheduler.decisions.ended_count,
            generation=self._compute_generation(),
            down_sources=_list_down_sources(components),
            rules_without_samples=self._lost.list_rules_without_samples(cache.snapshot()),
            rollout=version_log.describe_running_rollout(policies, _MAX_STATUS_ROLLOUT_CHARACTERS),
        )

    def _compute_generation(self) -> int:
        """Return the number of changes of nodes, pods, queues, samples and policies so far."""
        scheduler = self._components.scheduler
        nodes = scheduler.cache.nodes
        return (
            nodes.node_changes.generation
            + nodes.usage_changes.generation
            + scheduler.cache.metrics.generation
            + scheduler.cache.metrics.looks
            + sum(scheduler.queue.incoming.values())
            + scheduler.decisions.ended_count
            + self._versions.event_count
        )


def _list_down_sources(components: context.ProcessComponents) -> list[debug_forms.DownSource]:
    health = () if components.metrics is None else components.metrics.get_server_health()
    return [
        debug_forms.DownSource(
            each.name, each.since.isoformat() if each.since else "", each.problem
        )
        for each in health
        if not each.is_up
    ]


def _format_lease_name(components: context.ProcessComponents) -> str:
    settings = components.election
    if not settings.leader_elect:
        return ""
    namespace = settings.resource_namespace or components.connection.own_namespace
    return f"{namespace or election.DEFAULT_NAMESPACE}/{settings.resource_name}"
