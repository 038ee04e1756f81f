from __future__ import annotations

import json
import pathlib

import pytest

from policysched.cli import main
from tests.promapi import fake_prometheus as fake

TEXT = """metric load: ratio =
  `max by (instance) (rate(busy_seconds_total[5m]))`
  node instance missing allow

policy web {
  description "web"
  owner "team-web"
  for pods where app = web
  reject when load > 80% as hot
}
"""


@pytest.fixture
def policies(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Return a file of policies, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "web.policy"
    file.write_text(TEXT, encoding="utf-8")
    return file


def percent(request: fake.Request) -> fake.Answer:
    """Answer as a server whose values are in percent, and that looked at 10 samples."""
    if request.path.endswith("/query"):
        answer = fake.success([fake.series("35.5", instance="n1")])
        body = json.loads(answer.pieces[0] or b"")
        body["data"]["stats"] = {
            "samples": {"totalQueryableSamples": 10},
            "timings": {"evalTotalTime": 0.5},
        }
        return fake.Answer(pieces=(json.dumps(body).encode(),))
    return fake.failure(404, "not_found", "no such page")


def test_findings_of_a_server_are_printed(
    policies: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--prometheus URL` brings the rules of PS6, whose findings fail like all others."""
    with fake.FakePrometheus() as server:
        server.answer = percent
        code = main.main(["lint", str(policies), "--prometheus", server.url, "--format", "concise"])
    out = capsys.readouterr().out
    assert code == 1
    assert "PS605" in out
    assert "35.5" in out


def test_thresholds_are_settings(
    policies: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a rule draws its line can be said in `.policysched.toml`."""
    settings = policies.with_name(".policysched.toml")
    settings.write_text(
        "[lint.thresholds]\nmax-query-samples = 5\nmax-ratio = 40\n", encoding="utf-8"
    )
    with fake.FakePrometheus() as server:
        server.answer = percent
        code = main.main(["lint", str(policies), "--prometheus", server.url, "--format", "json"])
    found = [each["code"] for each in json.loads(capsys.readouterr().out)["findings"]]
    assert code == 1
    assert found == ["PS604"]


def test_an_unreachable_server_is_one_error(
    policies: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 and one line on stderr, no findings."""
    code = main.main(["lint", str(policies), "--prometheus", "http://127.0.0.1:1"])
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "http://127.0.0.1:1 cannot be queried" in captured.err


@pytest.mark.parametrize(
    "text, words",
    [
        pytest.param(
            "[lint.thresholds]\nmax-ratoi = 2", "`max-ratoi` is not a threshold", id="name"
        ),
        pytest.param("[lint.thresholds]\nmax-ratio = 'x'", "not a number above 0", id="type"),
        pytest.param("[lint]\nprometheus = 3", "is not a table", id="table"),
        pytest.param("[lint.prometheus]\npassword = 'x'", "`password` is not a setting", id="key"),
    ],
)
def test_wrong_settings_are_one_error(
    policies: pathlib.Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    """What is wrong in the settings is named before any server is asked."""
    policies.with_name(".policysched.toml").write_text(text, encoding="utf-8")
    code = main.main(["lint", str(policies), "--prometheus", "http://127.0.0.1:1"])
    captured = capsys.readouterr()
    assert code == 2
    assert words in captured.err
