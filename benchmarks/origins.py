"""What runs are made with now, and which older runs were made with something else."""

from __future__ import annotations

import functools
import hashlib
import pathlib
from collections.abc import Sequence

import policysched
from benchmarks import machine, measurements, results, schedulers, workload_files
from policysched import _resources
from tests.realcluster import components

_OLDER = "by a benchmark that did not say yet with what"
_ELSEWHERE = "on another machine, or with another Python"
_DIFFERENCES = {
    "workload": "of a workload whose file was another one",
    "policysched": "with another version of policysched",
    "kube_scheduler": "with another version of kube-scheduler",
    "policy": "with another text of the policy",
    "flags": "with other flags of policysched",
}


def origin(
    workload: workload_files.Workload, scheduler: str, flags: Sequence[str] = ()
) -> measurements.Origin:
    """Return what a run of a scheduler is made with now.

    Args:
        workload: as it was read for the run; its file may have been edited since.
        scheduler: which one runs, and with which policy.
        flags: further ones of policysched.

    Raises:
        workload_files.FileError: there is no such policy any longer.
    """
    _, _, policy = scheduler.partition("+")
    text = schedulers.policy_file(policy).read_bytes() if policy else b""
    return measurements.Origin(
        workload=workload.content_hash,
        policysched=policysched_hash(),
        kube_scheduler=components.KUBERNETES_VERSION,
        policy=_hash(text) if policy else "",
        flags=tuple(flags),
    )


def judge(flags: Sequence[str] = ()) -> results.Judge:
    """Return what leaves out all runs that were made with, or on, something else than now.

    kube-scheduler's are left out with policysched's, for ratios are of one state of the machine.
    """
    known: dict[tuple[str, str], measurements.Origin | None] = {}

    def difference(one: measurements.Measurement) -> str:
        key = (one.case.workload, one.scheduler)
        if key not in known:
            known[key] = _origin_or_none(*key, flags)
        told = _difference(one.origin, known[key])
        return told or ("" if one.machine == machine.told() else _ELSEWHERE)

    return difference


def _origin_or_none(
    workload: str, scheduler: str, flags: Sequence[str]
) -> measurements.Origin | None:
    try:
        return origin(workload_files.load(workload), scheduler, flags)
    except workload_files.FileError:
        return None


def _difference(made: measurements.Origin | None, now: measurements.Origin | None) -> str:
    if made is None:
        return _OLDER
    if now is None:
        return "of a workload or policy that is not there any longer"
    for field, told in _DIFFERENCES.items():
        if getattr(made, field) != getattr(now, field):
            return told
    return ""


def check_unchanged() -> None:
    """Return where policysched is what it was when this process first looked.

    Raises:
        workload_files.FileError: somebody has edited it; what runs now would be another version.
    """
    if policysched_hash.__wrapped__() != policysched_hash():
        text = "files of policysched were changed after the benchmark had begun"
        raise workload_files.FileError(f"{text}; the same command begins anew with these")


@functools.cache
def policysched_hash() -> str:
    """Return a hash of the files of the package and its grammar, which tells versions apart."""
    named: list[bytes] = []
    for folder in (
        pathlib.Path(policysched.__file__).parent,
        _resources.find_resource_folder("grammar"),
    ):
        files = [one for one in folder.rglob("*") if one.is_file() and one.suffix != ".pyc"]
        for one in sorted(files):
            named += [one.relative_to(folder).as_posix().encode(), one.read_bytes()]
    return _hash(b"\0".join(named))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
