"""The inputs of runs now, and their differences from the inputs of older runs."""

from __future__ import annotations

import functools
import hashlib
import pathlib

from benchmarks import workload_files
from benchmarks.comparison import schedulers
from benchmarks.process import machine
from benchmarks.records import measurements, results
from tests.realcluster import components

_NO_OPTIONS = schedulers.Options()
_OLDER = "by an older benchmark, which recorded no inputs"
_ELSEWHERE = "on another machine, or with another Python"
_DIFFERENCES = {
    "workload": "with another version of the workload",
    "policysched": "with another version of policysched",
    "kube_scheduler": "with another version of kube-scheduler",
    "policy": "with another version of the policy",
    "flags": "with other flags of policysched",
}


def origin(
    workload: workload_files.Workload,
    scheduler: str,
    options: schedulers.Options = _NO_OPTIONS,
) -> measurements.Origin:
    """Return the inputs of a run of a scheduler now.

    Args:
        workload: as read for the run; its file may have changed since.
        scheduler: the name of the scheduler, with its policy.
        options: of policysched.

    Raises:
        workload_files.FileError: the policy or the base no longer exists.
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
    """Return a function that reports how the inputs or the machine of a run differ from now.

    Runs of kube-scheduler are excluded together with those of policysched, because ratios are for
    one state of the machine.
    """
    known: dict[tuple[str, str], measurements.Origin | None] = {}

    def difference(run: measurements.Measurement) -> str:
        key = (run.case.workload, run.scheduler)
        if key not in known:
            known[key] = _get_origin(*key, options)
        reason = _find_difference(run.origin, known[key])
        return reason or ("" if run.machine == machine.describe() else _ELSEWHERE)

    return difference


def _get_origin(
    workload: str, scheduler: str, options: schedulers.Options
) -> measurements.Origin | None:
    try:
        return origin(workload_files.load(workload), scheduler, options)
    except workload_files.FileError:
        return None


def _find_difference(before: measurements.Origin | None, now: measurements.Origin | None) -> str:
    if before is None:
        return _OLDER
    if now is None:
        return "of a workload, policy or base that no longer exists"
    for field, reason in _DIFFERENCES.items():
        if getattr(before, field) != getattr(now, field):
            return reason
    return ""


def check_unchanged(options: schedulers.Options = _NO_OPTIONS) -> None:
    """Check that policysched and its base have not changed since this process first read them.

    Raises:
        workload_files.FileError: a file has changed, so the next run would be of another version.
    """
    folders = [schedulers.CHECKOUT, *([options.base] if options.base else [])]
    if any(policysched_hash.__wrapped__(each) != policysched_hash(each) for each in folders):
        text = "files of policysched changed after the benchmark had begun"
        raise workload_files.FileError(f"{text}; run the same command to measure the new version")


@functools.cache
def policysched_hash(checkout: pathlib.Path = schedulers.CHECKOUT) -> str:
    """Return the version of a checkout: a hash of its package and its grammar."""
    parts: list[bytes] = []
    for folder in (checkout / "policysched", checkout / "grammar"):
        # Python writes files of other names beside those that it is about to make.
        listed = [file for file in folder.rglob("*") if file.parent.name != "__pycache__"]
        files = [file for file in listed if file.is_file()]
        for file in sorted(files):
            parts += [file.relative_to(folder).as_posix().encode(), file.read_bytes()]
    return _hash(b"\0".join(parts))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
