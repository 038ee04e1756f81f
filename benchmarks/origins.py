"""What runs are made with now, and which older runs were made with something else."""

from __future__ import annotations

import functools
import hashlib
import pathlib

from benchmarks import machine, measurements, results, schedulers, workload_files
from tests.realcluster import components

_NO_OPTIONS = schedulers.Options()
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
    workload: workload_files.Workload,
    scheduler: str,
    options: schedulers.Options = _NO_OPTIONS,
) -> measurements.Origin:
    """Return what a run of a scheduler is made with now.

    Args:
        workload: as it was read for the run; its file may have been edited since.
        scheduler: which one runs, and with which policy.
        options: of policysched.

    Raises:
        workload_files.FileError: there is no such policy or base any longer.
    """
    policy = schedulers.policy_of(scheduler)
    text = schedulers.policy_file(policy).read_bytes() if policy else b""
    return measurements.Origin(
        workload=workload.content_hash,
        policysched=policysched_hash(schedulers.checkout(scheduler, options)),
        kube_scheduler=components.KUBERNETES_VERSION,
        policy=_hash(text) if policy else "",
        flags=tuple(options.flags),
    )


def judge(options: schedulers.Options = _NO_OPTIONS) -> results.Judge:
    """Return what leaves out all runs that were made with, or on, something else than now.

    kube-scheduler's are left out with policysched's, for ratios are of one state of the machine.
    """
    known: dict[tuple[str, str], measurements.Origin | None] = {}

    def difference(one: measurements.Measurement) -> str:
        key = (one.case.workload, one.scheduler)
        if key not in known:
            known[key] = _origin_or_none(*key, options)
        told = _difference(one.origin, known[key])
        return told or ("" if one.machine == machine.told() else _ELSEWHERE)

    return difference


def _origin_or_none(
    workload: str, scheduler: str, options: schedulers.Options
) -> measurements.Origin | None:
    try:
        return origin(workload_files.load(workload), scheduler, options)
    except workload_files.FileError:
        return None


def _difference(made: measurements.Origin | None, now: measurements.Origin | None) -> str:
    if made is None:
        return _OLDER
    if now is None:
        return "of a workload, policy or base that is not there any longer"
    for field, told in _DIFFERENCES.items():
        if getattr(made, field) != getattr(now, field):
            return told
    return ""


def check_unchanged(options: schedulers.Options = _NO_OPTIONS) -> None:
    """Check that policysched and its base are what they were when this process first looked.

    Raises:
        workload_files.FileError: somebody has edited it; what runs now would be another version.
    """
    folders = [schedulers.CHECKOUT, *([options.base] if options.base else [])]
    if any(policysched_hash.__wrapped__(one) != policysched_hash(one) for one in folders):
        text = "files of policysched were changed after the benchmark had begun"
        raise workload_files.FileError(f"{text}; the same command begins anew with these")


@functools.cache
def policysched_hash(checkout: pathlib.Path = schedulers.CHECKOUT) -> str:
    """Return a hash of the package and the grammar in a checkout: its version."""
    named: list[bytes] = []
    for folder in (checkout / "policysched", checkout / "grammar"):
        files = [one for one in folder.rglob("*") if one.is_file() and one.suffix != ".pyc"]
        for one in sorted(files):
            named += [one.relative_to(folder).as_posix().encode(), one.read_bytes()]
    return _hash(b"\0".join(named))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
