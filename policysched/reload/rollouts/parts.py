"""The parts of a rollout: the version that passes stages, and what a controller uses."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable

from policysched.profiles import policies
from policysched.reload import live_profiles, versions
from policysched.reload import state as states
from policysched.reload.rollouts import guard_evaluation, rollout_store
from policysched.rollout import settings


@dataclasses.dataclass(frozen=True, slots=True)
class RolloutCandidate:
    """The newest version that has to pass stages.

    Attributes:
        checked: the version.
        made: its profiles.
    """

    checked: versions.CheckedVersion
    made: policies.Profiles

    @property
    def hash(self) -> str:
        """The hash of the version."""
        return self.checked.hash

    @property
    def plan(self) -> settings.RolloutSettings:
        """The stages and guards of the version."""
        return self.checked.rollout


@dataclasses.dataclass(frozen=True, slots=True)
class RolloutSource:
    """The source of new versions, as far as a term needs it.

    Attributes:
        catch_up: waits until the newest version was offered, for a few seconds at most.
        is_busy: returns whether a version is being checked.
        is_hindered: returns whether a good version cannot be used at the moment, and is retried.
        compute_hash: returns the hash of the version in an offer.
        held_hash: the version that a freeze holds in its stage at the start of the process;
            "" otherwise.
    """

    catch_up: Callable[[], Awaitable[None]]
    is_busy: Callable[[], bool]
    is_hindered: Callable[[], bool]
    compute_hash: Callable[[versions.OfferedVersion], str]
    held_hash: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class RolloutParts:
    """The components that a controller uses.

    Attributes:
        live: the profiles in use.
        state: the version in force, and the newest rollout.
        source: offers versions.
        store: reads and writes the state in the cluster.
        evaluator: evaluates the guards of the stage.
        is_leading: returns whether this process leads.
    """

    live: live_profiles.LiveProfiles
    state: states.PolicyState
    source: RolloutSource
    store: rollout_store.RolloutStore
    evaluator: guard_evaluation.GuardEvaluator
    is_leading: Callable[[], bool]
