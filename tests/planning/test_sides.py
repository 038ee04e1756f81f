from __future__ import annotations

import pathlib
import subprocess

import pytest

from tests.cli import clusters
from tests.planning import plans

_SSD = plans.policy("nodeAffinity required disktype = ssd as ssd", head="")
_HDD = plans.policy("nodeAffinity required disktype = hdd as hdd", head="")
_ODD = "odd -n;$(x) name"


@pytest.fixture
def folder(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> plans.Folder:
    """Return a folder with a cluster of two nodes, and work in it."""
    monkeypatch.chdir(tmp_path)
    made = plans.Folder(tmp_path, capsys)
    made.cluster(
        clusters.node("a", disktype="ssd"),
        clusters.node("b", disktype="hdd"),
        clusters.pod("p", on="a"),
    )
    return made


def _git(*argv: str) -> None:
    named = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *named, *argv], check=True, capture_output=True)


def _manifest(text: str) -> str:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: p}}\ndata:\n  a.policy: |\n{lines}"


@pytest.fixture
def repository(folder: plans.Folder) -> plans.Folder:
    """A repository whose first revision has ssd policies and whose files have hdd ones."""
    _git("init", "-q", "-b", "main", ".")
    for text, is_committed in ((_SSD, True), (_HDD, False)):
        folder.write(f"{_ODD}/web.policy", text)
        folder.write("map.yaml", _manifest(text))
        if is_committed:
            _git("add", _ODD, "map.yaml")
            _git("commit", "-q", "-m", "x")
            _git("branch", "--", "topic/one")
    return folder


@pytest.mark.parametrize(
    "old, new",
    [
        pytest.param(f"git:main:{_ODD}", _ODD, id="a folder"),
        pytest.param(f"git:HEAD:{_ODD}/web.policy", f"{_ODD}/web.policy", id="a file"),
        pytest.param("git:topic/one", _ODD, id="the path of the other side"),
        pytest.param("git:main:map.yaml", "map.yaml", id="a manifest"),
        pytest.param(f"git:main:./{_ODD}/", f"./{_ODD}/", id="a path with dots"),
    ],
)
def test_a_revision_is_read_through_git(repository: plans.Folder, old: str, new: str) -> None:
    """What was committed is one side, what lies in the folder now the other."""
    exit_code, out, err = repository.run(
        "--cluster", "cluster.json", "--from", old, "--to", new, "-o", "json"
    )
    assert (exit_code, err) == (0, "")
    assert plans.changed(plans.checked(out)) == {"p": ("moved", "a", "b")}


def test_a_revision_is_relative_to_the_folder(
    repository: plans.Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside a folder of the repository paths of both sides mean the same."""
    monkeypatch.chdir(repository.path / _ODD)
    argv = ("--cluster", "../cluster.json", "--from", "git:main", "--to", ".", "-o", "json")
    exit_code, out, err = repository.run(*argv)
    assert (exit_code, err) == (0, "")
    assert plans.changed(plans.checked(out)) == {"p": ("moved", "a", "b")}


@pytest.mark.parametrize(
    "old, exit_code, said",
    [
        pytest.param("git:nope:x", 2, "git:nope: is not a revision known to git", id="revision"),
        pytest.param("git:main:x", 2, "git:main:x: is not in this revision", id="path"),
        pytest.param("git:--help:x", 2, "is not a revision known to git", id="an option"),
        pytest.param("git:main^{tree}:x", 2, "is not a revision known to git", id="a tree"),
        pytest.param("git:a\0b:x", 2, "contains a NUL character", id="NUL"),
        pytest.param("git:main:../../x", 2, "is outside repository", id="outside"),
        pytest.param("git:main:.", 2, "has no file that ends in `.policy`", id="no policies"),
        pytest.param("git:main", 3, "write `git:main:PATH`", id="no path"),
        pytest.param("git:", 3, "has no revision", id="no revision"),
        pytest.param("main", 2, "write `git:main:PATH`", id="a revision without git:"),
        pytest.param("", 3, "a path of policies is empty", id="empty"),
    ],
)
def test_a_side_that_cannot_be_read_is_one_error(
    repository: plans.Folder, old: str, exit_code: int, said: str
) -> None:
    """It says what is wrong, and git is asked for nothing else."""
    found = repository.run("--cluster", "cluster.json", "--from", old, "--to", "none")
    assert (found[0], found[1]) == (exit_code, "")
    assert said in found[2]
    assert "Traceback" not in found[2]


def test_links_in_a_revision_are_refused(repository: plans.Folder) -> None:
    """A link leads somewhere else in each checkout, so it is not followed in a revision."""
    (repository.path / _ODD / "z.policy").symlink_to("/etc/passwd")
    _git("add", _ODD)
    _git("commit", "-q", "-m", "y")
    code, _, err = repository.run(
        "--cluster", "cluster.json", "--from", f"git:main:{_ODD}", "--to", "none"
    )
    assert (code, "is a link or a folder" in err) == (2, True)


@pytest.mark.parametrize(
    "argv, exit_code, said",
    [
        pytest.param((), 3, "--from is missing", id="no sides"),
        pytest.param(("--from", "none"), 3, "--to is missing", id="one side"),
        pytest.param(
            ("--from", "none", "--from", "a.policy", "--to", "none"), 3, "not both", id="none and"
        ),
        pytest.param(("--from", "-", "--to", "-"), 3, "several inputs are `-`", id="stdin twice"),
        pytest.param(
            ("--from", "none", "--to", "none", "--params", "hot=1"),
            2,
            "neither side declares a param `hot`",
            id="unknown param",
        ),
        pytest.param(
            ("--from", "none", "--to", "none", "--plot", "x.svg"), 3, "--sweep", id="plot alone"
        ),
        pytest.param(
            ("--from", "none", "--to", "a.policy", "--scheduler-name", "x"), 0, "", id="a name"
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(
    folder: plans.Folder, argv: tuple[str, ...], exit_code: int, said: str
) -> None:
    """Each gets one line and the exit code of its kind."""
    folder.write("a.policy", _SSD)
    found = folder.run("--cluster", "cluster.json", *argv)
    assert (found[0], said in found[2]) == (exit_code, True)


def test_edits_are_placed_in_manifests(repository: plans.Folder) -> None:
    """An edit in a ConfigMap is told by the line of the YAML file."""
    argv = ("--cluster", "cluster.json", "--from", "git:main:map.yaml", "--to", "map.yaml")
    _, out, _ = repository.run(*argv, "-o", "json")
    places = {each["change"]: each["where"] for each in plans.checked(out)["edits"]}
    assert places == {"added": "map.yaml:9:7", "removed": "git:main:map.yaml:9:7"}


def test_metrics_without_samples_are_told(folder: plans.Folder) -> None:
    """Rules over them act as in an outage on both sides, which a plan must not keep silent."""
    folder.write("a.policy", plans.policy("reject when busy > 80% missing allow as too-hot"))
    exit_code, _, err = folder.run(
        "--cluster", "cluster.json", "--from", "none", "--to", "a.policy"
    )
    assert (exit_code, "no node has a sample of `busy`" in err) == (0, True)


def test_a_running_cluster_that_cannot_be_read_is_one_error(folder: plans.Folder) -> None:
    """--kubeconfig names a running cluster; a file beside it is refused."""
    argv = ("--from", "none", "--to", "none", "--kubeconfig", "nowhere.yaml")
    assert folder.run(*argv)[0] == 2
    exit_code, _, err = folder.run(*argv, "--cluster", "cluster.json")
    assert (exit_code, "give only one of them" in err) == (3, True)


def test_a_side_takes_several_files(folder: plans.Folder) -> None:
    """After one option, or after the same option again."""
    new = folder.write("new.policy", _SSD)
    other = "policy other { for pods nodeAffinity preferred disktype = ssd as fast }"
    second = folder.write("other.policy", other)
    outputs = [
        folder.run("--cluster", "cluster.json", "--from", "none", *to, "-o", "json")
        for to in (("--to", new, second), ("--to", new, "--to", second))
    ]
    assert outputs[0] == outputs[1]
    names = [edit["name"] for edit in plans.checked(outputs[0][1])["edits"]]
    assert names == ["other/fast", "web/ssd"]


def test_params_are_given_to_both_sides_or_one(folder: plans.Folder) -> None:
    """The same policies with two values of a param are two sides; the param is named as the way."""
    head = "param least: cores = 1\n"
    folder.write("a.policy", plans.policy("reject when free(cpu) < least as full", head=head))
    argv = ("--cluster", "cluster.json", "--from", "a.policy", "--to", "a.policy", "-o", "json")
    _, out, _ = folder.run(*argv, "--params", "least=2")
    assert plans.checked(out)["edits"] == []
    exit_code, out, _ = folder.run(*argv, "--to-params", "least=5")
    report = plans.checked(out)
    assert (exit_code, plans.changed(report)) == (1, {"p": ("unschedulable", "a", None)})
    assert report["edits"][0]["note"] == "param least: 1 → 5"


@pytest.mark.parametrize(
    "fail_on, exit_code", [("never", 0), ("unschedulable", 0), ("moved", 1), ("any", 1)]
)
def test_the_exit_code_follows_what_counts(
    folder: plans.Folder, fail_on: str, exit_code: int
) -> None:
    """A pod that moves is a finding where it is asked for, and none by default."""
    folder.write("a.policy", _SSD)
    folder.write("b.policy", _HDD)
    argv = ("--cluster", "cluster.json", "--from", "a.policy", "--to", "b.policy")
    assert folder.run(*argv, "--fail-on", fail_on)[0] == exit_code
