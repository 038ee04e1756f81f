"""The answers of the page about a running scheduler."""

from __future__ import annotations

import asyncio
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from policysched import errors
from policysched.observability import debug_client
from policysched.observability.live_page import live_answers
from policysched.page import local_access, scheduler_client, scheduler_source
from policysched.reload import versions
from policysched.serving import http_server
from tests import builders, report_schemas
from tests.cli import clusters
from tests.kube.asynchronous import asynchronous
from tests.observability import page_answers
from tests.page import running_scheduler, servers
from tests.realcluster import process
from tests.scheduler import fakes

PATHS = ("status", "decisions", "queue", "versions", "policies", "cluster")
REFUSAL = versions.VersionRefusal("bad0", "a:1: oh", "error[PS001]: oh", ValueError())


class LivePages:
    """Asks the live API about one scheduler."""

    def __init__(self, url: str, token_file: pathlib.Path, *, has_listing: bool = False) -> None:
        access = debug_client.DebugServerCredentials(str(token_file))
        client = debug_client.DebugClient(url, access)
        self.client = scheduler_client.SchedulerClient(client, str(token_file))
        listing = live_answers.Listing("beef", "2026-01-05T12:00:00Z") if has_listing else None
        api = live_answers.LiveAnswers(self.client, "the scheduler", listing=listing)
        self.pages = api.make_pages(local_access.DATA_ROOT)

    async def ask_page(self, name: str, /, **parameters: str) -> http_server.HttpPage:
        """Return the page about a question."""
        return await page_answers.ask_page(self.pages[f"/api/{name}"], **parameters)

    async def ask(self, name: str, /, **parameters: str) -> Any:
        """Return the answer to a question, which must be one."""
        page = await self.ask_page(name, **parameters)
        assert page.status == 200, page.body
        return json.loads(page.body)

    async def ask_problem(self, name: str, /, **parameters: str) -> str:
        """Return the error of a question, which must be one."""
        page = await self.ask_page(name, **parameters)
        assert page.status >= 400
        return str(json.loads(page.body)["error"])


def _write_token(path: pathlib.Path, text: str) -> None:
    path.write_text(text)


@pytest.fixture
def token_file(tmp_path: pathlib.Path) -> pathlib.Path:
    """A file with the token."""
    path = tmp_path / "token"
    path.write_text(running_scheduler.TOKEN)
    return path


@pytest.fixture
def scheduler() -> Iterator[running_scheduler.RunningScheduler]:
    """A scheduler with a node for one pod, and a pod that waits."""
    with running_scheduler.RunningScheduler() as made:

        async def add_node(world: fakes.World) -> None:
            world.add_node("n1", pods=1)

        made.do(add_node)
        made.schedule("a", "late")
        yield made


def test_all_answers_are_those_of_the_scheduler(
    scheduler: running_scheduler.RunningScheduler, token_file: pathlib.Path
) -> None:
    """In the forms of its pages."""

    @asynchronous
    async def ask() -> None:
        live = LivePages(scheduler.url, token_file)
        status = await live.ask("status")
        assert (status["kind"], status["nodes"], status["pending"]) == ("scheduler", 1, 1)
        assert (status["scheduler"]["isLeading"], status["hash"]) == (True, "900d")
        rows = await live.ask("decisions", after="0")
        report_schemas.check_report(rows, "page-rows")
        assert sorted(row[1] for row in rows["rows"]) == ["default/a", "default/late"]
        queue = await live.ask("queue")
        report_schemas.check_report(queue, "page-queue")
        assert [pod["pod"] for pod in queue["pods"]] == ["default/late"]
        versions_page = await live.ask("versions")
        report_schemas.check_report(versions_page, "page-versions")
        policies = await live.ask("policies")
        assert [each["name"] for each in policies["files"]] == ["web.policy"]
        assert policies["profiles"][0]["rules"][0]["name"] == "web/fast"
        records = await live.ask("records", pod="default/late")
        assert [each["result"] for each in records["records"]] == ["unschedulable"]
        node = await live.ask("node", name="n1")
        report_schemas.check_report(node, "page-node")
        explained = await live.ask("explain", pod="default/late")
        report_schemas.check_report(explained, "page-explain")
        assert explained["funnel"] == [
            {"by": "Room", "line": None, "rejects": 1, "left": 0, "rejectsInAll": 1}
        ]
        found = await live.ask("find", text="n1")
        assert (found["pods"], found["nodes"], found["rules"]) == ([], ["n1"], [])
        found = await live.ask("find", text="prod/x")
        assert found["pods"] == ["prod/x"]
        lost = builders.make_pod("lost").scheduler_name("mystery")
        await asyncio.to_thread(scheduler.schedule, lost)
        assert (await live.ask("find", text="lost"))["pods"] == ["default/lost"]

    ask()


def test_an_unknown_name_is_status_404_and_names_it(
    scheduler: running_scheduler.RunningScheduler, token_file: pathlib.Path
) -> None:
    """So that the page does not take the scheduler for one that fails."""

    @asynchronous
    async def ask() -> None:
        live = LivePages(scheduler.url, token_file)
        node = await live.ask_page("node", name="n9")
        assert (node.status, json.loads(node.body)["error"]) == (404, "`n9`: there is no such node")
        pod = await live.ask_page("explain", pod="default/gone")
        text = "`default/gone`: this scheduler knows no waiting pod of this name"
        assert pod.status == 404
        assert json.loads(pod.body)["error"].startswith(text)

    ask()


def test_names_of_nodes_are_fetched_once(
    scheduler: running_scheduler.RunningScheduler, token_file: pathlib.Path
) -> None:
    """The browser gets all columns each time, and the scheduler sends only what has changed."""

    @asynchronous
    async def ask() -> None:
        live = LivePages(scheduler.url, token_file)
        first = await live.ask("cluster")
        assert first["names"] == ["n1"]
        again = await live.ask("cluster")
        assert (again["names"], again["pods"]) == (["n1"], {"used": [1], "of": [1]})

    ask()


def test_equal_questions_are_one_request(
    scheduler: running_scheduler.RunningScheduler, token_file: pathlib.Path
) -> None:
    """Ten tabs that wait for the next row cost the scheduler as much as one."""

    @asynchronous
    async def ask() -> None:
        live = LivePages(scheduler.url, token_file)
        newest = str((await live.ask("decisions"))["next"])
        before = scheduler.guard.asked
        scheduler.guard.was_asked.clear()
        waiting = [
            asyncio.create_task(live.ask("decisions", after=newest, wait="20")) for _ in range(10)
        ]
        assert await asyncio.to_thread(scheduler.guard.was_asked.wait, 60)
        waiting.pop().cancel()  # a tab that is closed ends only its own question
        await asyncio.to_thread(scheduler.schedule, "new")
        for each in waiting:
            assert [row[1] for row in (await each)["rows"]] == ["default/new"]
        assert scheduler.guard.asked == before + 1

    ask()


def test_with_a_listing_other_paths_answer_about_nodes(token_file: pathlib.Path) -> None:
    """Names and verdicts must be of one time."""
    live = LivePages("http://127.0.0.1:9", token_file, has_listing=True)
    assert not {"/api/cluster", "/api/node", "/api/find", "/api/explain"} & set(live.pages)


def test_with_a_listing_a_newer_pod_is_explained_by_the_scheduler(
    scheduler: running_scheduler.RunningScheduler, token_file: pathlib.Path
) -> None:
    """The status has the policies and the time of the listing beside those of the scheduler."""

    @asynchronous
    async def ask() -> None:
        live = LivePages(scheduler.url, token_file, has_listing=True)
        status = await live.ask("status")
        assert status["listing"] == {"hash": "beef", "at": "2026-01-05T12:00:00Z"}
        assert status["hash"] == "900d"
        assert (await live.ask("now", pod="default/late"))["feasible"] == 0

    ask()


@pytest.mark.parametrize(
    "name, parameters, problem",
    [
        pytest.param("status", {"url": "http://x"}, "`url` is unknown", id="unknown"),
        pytest.param("decisions", {"after": "-1"}, "`after`", id="number"),
        pytest.param("decisions", {"wait": "3600"}, "`wait`", id="too long"),
        pytest.param("records", {"pod": "a/b/c"}, "NAMESPACE/NAME", id="pod"),
        pytest.param("records", {"pod": "x" * 600}, "too long", id="long"),
        pytest.param("records", {}, "missing", id="missing"),
        pytest.param("node", {"name": "no"}, "there is no such node", id="node"),
        pytest.param("explain", {"pod": "default/a"}, "knows no waiting pod", id="placed pod"),
        pytest.param("find", {"text": ""}, "missing", id="empty"),
    ],
)
def test_the_browser_chooses_no_path_and_no_other_parameter(
    scheduler: running_scheduler.RunningScheduler,
    token_file: pathlib.Path,
    name: str,
    parameters: dict[str, str],
    problem: str,
) -> None:
    """What it may choose is checked before anything is sent."""

    @asynchronous
    async def ask() -> None:
        live = LivePages(scheduler.url, token_file)
        assert problem in await live.ask_problem(name, **parameters)

    ask()


def test_a_token_that_expires_is_said_and_a_new_one_is_used(
    scheduler: running_scheduler.RunningScheduler, token_file: pathlib.Path
) -> None:
    """The file is read each time; the answer of the server shows no token."""

    @asynchronous
    async def ask() -> None:
        live = LivePages(scheduler.url, token_file)
        await live.ask("status")
        scheduler.guard.token = "renewed-token"
        problem = await live.ask_problem("status")
        assert "does not accept the token" in problem
        assert str(token_file) in problem
        scheduler.guard.status = 500
        problem = await live.ask_problem("queue")
        assert "answered 500" in problem
        assert running_scheduler.TOKEN not in problem
        scheduler.guard.status = 403
        assert "policysched-debug-reader" in await live.ask_problem("queue")
        _write_token(token_file, "renewed-token\n")
        assert (await live.ask("status"))["nodes"] == 1

    ask()


def test_a_restart_is_seen_and_survived(
    scheduler: running_scheduler.RunningScheduler, token_file: pathlib.Path
) -> None:
    """While nobody answers, that is said; then the numbers of the new run begin at 1."""

    @asynchronous
    async def ask() -> None:
        live = LivePages(scheduler.url, token_file)
        before = await live.ask("decisions")
        scheduler.stop()
        assert "does not answer; the page asks again" in await live.ask_problem("status")
        scheduler.start()
        after = await live.ask("decisions", after=str(before["next"]))
        assert after["next"] == 0
        assert after["startedAt"] != ""
        assert (await live.ask("cluster"))["names"] == []

    ask()


def test_an_older_scheduler_is_said_to_be_older(token_file: pathlib.Path) -> None:
    """Page by page; the status says it in one line instead of failing."""
    missing = ("/debug/status", "/debug/queue")
    with running_scheduler.RunningScheduler(missing=missing) as old:

        @asynchronous
        async def ask() -> None:
            live = LivePages(old.url, token_file)
            status = await live.ask("status")
            assert status["problem"] == (
                "this scheduler is older than the page: it has no /debug/status"
            )
            assert "it has no /debug/queue" in await live.ask_problem("queue")
            assert (await live.ask("versions"))["versions"]

        ask()


def test_another_form_of_a_page_is_said(token_file: pathlib.Path) -> None:
    """A scheduler before rows answers with records, whatever the parameters."""

    def answer_records(joined: Any) -> None:
        records = {"kept": 0, "limit": 0, "decisions": []}
        page = http_server.make_json_page(records)
        joined.pages["/debug/decisions"] = lambda _: page

    with running_scheduler.RunningScheduler() as old:
        old.change(answer_records)

        @asynchronous
        async def ask() -> None:
            live = LivePages(old.url, token_file)
            problem = await live.ask_problem("decisions")
            assert "older or newer than the page: its /debug/decisions has another" in problem

        ask()


@pytest.mark.parametrize(
    "body, text",
    [
        pytest.param(b'{"a":' * 100_000, "has another form", id="deep"),
        pytest.param(b"1" * ((1 << 26) + 1), "does not answer", id="long"),
    ],
)
def test_a_strange_page_of_a_scheduler_is_one_error(
    token_file: pathlib.Path, body: bytes, text: str
) -> None:
    """Whatever it sends, the page says that it cannot use it."""
    with running_scheduler.RunningScheduler() as strange:
        page = http_server.HttpPage(body, http_server.JSON)
        strange.change(lambda joined: joined.pages.update({"/debug/decisions": lambda _: page}))

        @asynchronous
        async def ask() -> None:
            assert text in await LivePages(strange.url, token_file).ask_problem("decisions")

        ask()


def test_an_answer_that_never_ends_is_one_error(
    token_file: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte arrives in time, the whole answer does not."""
    monkeypatch.setattr(scheduler_client, "_TIMEOUT_SECONDS", 0.2)
    is_over, is_closed = asyncio.Event(), asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not is_over.is_set():
            writer.write(b" ")
            await asyncio.sleep(0.02)
        writer.close()
        await writer.wait_closed()
        is_closed.set()

    @asynchronous
    async def ask() -> None:
        port = process.free_port()
        async with await asyncio.start_server(drip, "127.0.0.1", port):
            live = LivePages(f"http://127.0.0.1:{port}", token_file)
            problem = await live.ask_problem("queue")
            assert "does not answer; the page asks again" in problem
            is_over.set()
            await is_closed.wait()

    ask()


def test_a_refused_version_is_in_the_status(
    scheduler: running_scheduler.RunningScheduler, token_file: pathlib.Path
) -> None:
    """With its reason."""
    scheduler.change(lambda joined: joined.policies.record_refusal(REFUSAL, builders.EPOCH))

    @asynchronous
    async def ask() -> None:
        live = LivePages(scheduler.url, token_file)
        status = await live.ask("status")
        assert status["scheduler"]["refused"]["errors"] == "error[PS001]: oh"

    ask()


def test_redirects_are_not_followed(token_file: pathlib.Path) -> None:
    """Only the named server gets the token."""

    def redirect(joined: Any) -> None:
        page = http_server.HttpPage(
            b"", status=302, headers={"Location": "http://127.0.0.1:9/debug/status"}
        )
        joined.pages["/debug/status"] = lambda _: page

    with running_scheduler.RunningScheduler() as other:
        other.change(redirect)

        @asynchronous
        async def ask() -> None:
            live = LivePages(other.url, token_file)
            assert "answered 302" in await live.ask_problem("status")

        ask()


def test_without_a_listing_the_engine_says_what_it_needs() -> None:
    """With one, it answers about it."""
    source = scheduler_source.SchedulerSource("http://127.0.0.1:9", None)
    with pytest.raises(errors.InputError, match=r"needs a listing of the cluster.*--live"):
        source.get_view()
    listing = servers.make_source([clusters.node("a")])
    both = scheduler_source.SchedulerSource("http://127.0.0.1:9", listing)
    assert both.get_view() is listing.get_view()
    with pytest.raises(LookupError):
        both.take_step("next")


def test_the_netrc_of_the_user_does_not_replace_the_token(
    scheduler: running_scheduler.RunningScheduler,
    token_file: pathlib.Path,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A password for the same host stays where it is."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password hush\n")
    monkeypatch.setenv("NETRC", str(netrc))
    client = debug_client.DebugClient(
        scheduler.url, debug_client.DebugServerCredentials(str(token_file))
    )
    assert client.ask("/debug/status", {}).status == 200
    nobody = debug_client.DebugClient(scheduler.url, debug_client.DebugServerCredentials())
    assert nobody.ask("/debug/status", {}).message == "no:"


def test_the_proxy_of_the_user_gets_no_token(
    scheduler: running_scheduler.RunningScheduler,
    token_file: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A forwarded port of this machine is asked without it."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    access = debug_client.DebugServerCredentials(str(token_file))
    for host in ("127.0.0.1", "localhost"):
        url = scheduler.url.replace("127.0.0.1", host)
        assert debug_client.DebugClient(url, access).ask("/debug/status", {}).status == 200
