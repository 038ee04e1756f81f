"""Rules about a cluster leave out the pods that no profile decides."""

from __future__ import annotations

import pathlib

import pytest

from policysched.lint import linter, settings
from policysched.offline import lint_cluster
from tests.cli import clusters
from tests.lint import cases

_POLICY = """policy web {
  for pods where app = web
  nodeAffinity required disk = ssd
  podAntiAffinity required self topologyKey kubernetes.io/hostname
}
"""


@pytest.mark.parametrize(
    "profiles, codes",
    [
        pytest.param("", ["PS513", "PS514"], id="the-implied-profile-decides-all-pods"),
        pytest.param(
            "profile edge { policies web }\n", ["PS513", "PS514"], id="so-does-the-only-profile"
        ),
        pytest.param(
            "profile edge { policies web }\nprofile batch { policies web }\n",
            [],
            id="of-several-profiles-each-decides-its-own",
        ),
        pytest.param(
            "profile edge { policies web }\nprofile default-scheduler { policies web }\n",
            ["PS513", "PS514"],
            id="a-profile-of-that-name",
        ),
    ],
)
def test_pods_of_other_schedulers_are_left_out(
    profiles: str, codes: list[str], tmp_path: pathlib.Path
) -> None:
    """Three pods of default-scheduler break rules that hold for the one pod of the profile."""
    host = "kubernetes.io/hostname"
    file = clusters.write(
        tmp_path,
        clusters.node("a", disk="ssd", **{host: "a"}),
        clusters.node("b", cpu="8", disk="hdd", **{host: "b"}),
        clusters.pod("mine", schedulerName="edge"),
        *(clusters.pod(f"theirs-{n}", cpu="6") for n in range(3)),
    )
    result = cases.checked(_POLICY + profiles)
    assert result.program is not None
    cluster = lint_cluster.read_cluster_facts(file, result.program, cases.NOW)
    chosen = settings.LintSettings(select=("PS504", "PS513", "PS514"))
    findings = linter.lint_program(result, chosen, cluster).findings
    assert sorted(each.code for each in findings) == codes


def test_a_cluster_of_other_schedulers(tmp_path: pathlib.Path) -> None:
    """If the profiles decide no pod, PS507 reports the names, and PS504 reports no policy."""
    file = clusters.write(
        tmp_path, clusters.node("a"), clusters.pod("p"), clusters.pod("q", schedulerName="theirs")
    )
    result = cases.checked(
        "policy web { for pods where app = api  tolerate x }\n"
        "profile edge { policies web }\nprofile batch { policies web }\n"
    )
    assert result.program is not None
    cluster = lint_cluster.read_cluster_facts(file, result.program, cases.NOW)
    chosen = settings.LintSettings(select=("PS504", "PS507"))
    (finding,) = linter.lint_program(result, chosen, cluster).findings
    assert (finding.code, "`theirs`" in finding.message) == ("PS507", True)
