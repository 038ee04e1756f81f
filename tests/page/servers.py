"""Pages in the process of the test."""

from __future__ import annotations

import asyncio
import datetime
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from policysched import clock as clocks
from policysched.cli.reports import explain_binding_text, explain_pod_text, plan_markdown, plan_text
from policysched.inputs import cluster_file, dump_file
from policysched.karmada.plugins import registry
from policysched.karmada.steps import algorithm
from policysched.offline import binding_sessions, sessions
from policysched.page import (
    api,
    binding_answers,
    draft_api,
    offline_source,
    page_source,
    pod_answers,
    policy_files,
    text_forms,
)
from policysched.profiles import cluster_policy_loading, policies
from policysched.serving import http_server

NOW = datetime.datetime(2026, 3, 2, 9, 0, tzinfo=datetime.UTC)
CLOCK = clocks.ManualClock(NOW)
TEXTS = text_forms.TextForms(
    explain_pod_text.format_pod_explanation,
    explain_binding_text.format_binding_report,
    plan_text.format_plan_text,
    plan_markdown.format_plan_markdown,
)


def make_source(
    items: Sequence[Mapping[str, Any]], folder: pathlib.Path | None = None, policy: str = ""
) -> offline_source.OfflineSource:
    """Return a source of the objects, with one policy if there is a text for it."""
    paths = []
    if folder is not None and policy:
        path = folder / "test.policy"
        path.write_text(policy, encoding="utf-8")
        paths = [str(path)]
    found = cluster_file.parse_cluster(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode(), "test"
    )
    factory = sessions.DeciderFactory(policies.load_policy_set(paths, {}), NOW)
    inputs = page_source.ClusterInputs("test", found, NOW, {}, None, lambda _: {})
    decider = factory.make_decider(found, "test")
    return offline_source.OfflineSource(
        "file",
        "test",
        pod_answers.PodAnswers(decider),
        inputs,
        policy_files.PolicyFiles(paths, NOW),
    )


def make_plane_source(
    items: Sequence[Mapping[str, Any]], folder: pathlib.Path, policy: str = ""
) -> offline_source.OfflineSource:
    """Return a source of a Karmada control plane, with one policy if there is a text for it."""
    paths = []
    if policy:
        (folder / "test.policy").write_text(policy, encoding="utf-8")
        paths = [str(folder / "test.policy")]
    cluster = folder / "plane.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    plane = dump_file.read_dump(str(cluster)).plane
    loaded = cluster_policy_loading.load_cluster_policies(
        cluster_policy_loading.ClusterPolicyInputs(tuple(paths), NOW)
    )
    plugins = registry.create_selected_plugins(registry.make_built_in_factories(), ["*"])
    made = algorithm.BindingAlgorithm(plugins, policies=loaded.policies)
    decider = binding_sessions.BindingDecider(plane, made, loaded, NOW)
    inputs = page_source.ClusterInputs(
        "test", cluster_file.ClusterObjects(), NOW, {}, None, lambda _: {}, plane
    )
    shown = binding_answers.BindingAnswers(decider)
    return offline_source.OfflineSource(
        "file", "test", shown, inputs, policy_files.PolicyFiles(paths, NOW)
    )


def get_decider(source: page_source.PageSource) -> sessions.PodDecider:
    """Return the decider of a source that shows pods."""
    shown = source.get_view().answers
    assert isinstance(shown, pod_answers.PodAnswers)
    return shown.decider


class PageClient:
    """Asks the API of a source without a server."""

    def __init__(self, source: page_source.PageSource) -> None:
        self.api = api.PageApi(source, TEXTS, CLOCK)
        drafts = draft_api.DraftApi(source, TEXTS, CLOCK)
        self._pages = {**self.api.make_pages(), **drafts.make_pages()}
        self._posts = {**self.api.make_posts(), **drafts.make_posts()}

    async def ask_page(self, question: str, /, **parameters: str) -> http_server.HttpPage:
        """Return the page about a question."""
        query = http_server.QueryParameters({key: (text,) for key, text in parameters.items()})
        made = self._pages[f"/api/{question}"](query)
        assert not isinstance(made, http_server.HttpPage)
        return await made

    async def post_page(self, question: str, body: object) -> http_server.HttpPage:
        """Return the page about a question with a body of JSON."""
        return await self._posts[f"/api/{question}"](json.dumps(body).encode())

    async def post(self, question: str, body: object) -> Any:
        """Return the answer to a question with a body, which must be one."""
        page = await self.post_page(question, body)
        assert page.status == 200, page.body
        return json.loads(page.body)

    async def ask(self, question: str, /, **parameters: str) -> Any:
        """Return the answer to a question, which must be one."""
        page = await self.ask_page(question, **parameters)
        assert page.status == 200, page.body
        return json.loads(page.body)


def check_error(
    client: PageClient, question: str, parameters: Mapping[str, str], status: int, text: str
) -> None:
    """Check that a question has this status, and an error that contains `text`."""
    page = asyncio.run(client.ask_page(question, **parameters))
    assert page.status == status
    assert text in json.loads(page.body)["error"]
