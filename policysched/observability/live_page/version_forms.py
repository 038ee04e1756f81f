"""The forms of /debug/versions: versions in use and before, outcomes of offers, the rollout.

schemas/page-versions.schema.json describes the same forms.
"""

from __future__ import annotations

import msgspec


class RefusedVersion(msgspec.Struct, frozen=True, rename="camel"):
    """A version of the policies that is not used.

    Attributes:
        hash: "" if there were no texts.
        at: time of the refusal, ISO 8601.
        errors: the errors as `check` prints them, or the reason of a rollback; /debug/status
            truncates them.
        is_rolled_back: whether it was rolled back in a rollout, rather than refused.
    """

    hash: str
    at: str
    errors: str
    is_rolled_back: bool = False


class NamedText(msgspec.Struct, frozen=True):
    """A policy text with its name."""

    name: str
    text: str


class UsedVersion(msgspec.Struct, frozen=True, rename="camel"):
    """A version that is or was in use, in the form of schemas/versions.schema.json."""

    hash: str
    loaded_at: str
    origin: str
    in_use: bool
    texts: list[NamedText]


class VersionEvent(msgspec.Struct, frozen=True, rename="camel"):
    """The outcome of a version that was offered since the start of the process.

    Attributes:
        outcome: loaded, kept, frozen, refused, staged or rolledBack.
        errors: of a refused version, as `check` prints them; why a version was rolled back.
        stage: the stage that a staged version entered; otherwise "".
    """

    at: str
    outcome: str
    hash: str
    errors: str
    stage: str = ""


class RolloutDocument(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A rollout, running or ended; the fields are those of schemas/rollout.schema.json.

    Attributes:
        status: running, promoted, rolledBack or replaced.
        stage: number of the present or last stage, from 1.
        stage_name: the pods of the stage.
        stage_started_at: beginning of the stage, or end of the rollout, ISO 8601.
        judged_pods, min_pods: pods that the new version decided about in the stage, and how many
            of them the stage needs.
        guards: each with its value and bound, or with the reason why there is no value.
        reason: why it ended; "" while it runs.
    """

    status: str
    hash: str
    old_hash: str
    stage: int
    stage_count: int
    stage_name: str
    started_at: str
    stage_started_at: str
    judged_pods: int
    min_pods: int
    guards: list[str]
    is_paused: bool
    reason: str


class VersionsDocument(msgspec.Struct, frozen=True, rename="camel"):
    """The versions of the policies that a process knows.

    Attributes:
        is_frozen: whether other versions are held back.
        versions: newest first: those of this process, and those in the history ConfigMap.
        events: newest first.
        history: name of the history ConfigMap; "" if there is none.
        problem: why the history ConfigMap cannot be read; "" if it can.
        rollout: the newest rollout of the process; None if there was none.
    """

    origin: str
    is_frozen: bool
    warnings: list[str]
    refused: RefusedVersion | None
    versions: list[UsedVersion]
    events: list[VersionEvent]
    history: str
    problem: str
    rollout: RolloutDocument | None = None
