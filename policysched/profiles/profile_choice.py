"""Choose the profile for each pod of a cluster file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from policysched import errors
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from policysched.lang.words import profile_names

DEFAULT_SCHEDULER_NAME = profile_names.DEFAULT_SCHEDULER_NAME


class ProfileChoice:
    """Chooses the profile for each pod.

    A pod belongs to the profile with its schedulerName. If there is none, the only profile is used
    or, if there are several, the profile called `policysched`: a user who passes a cluster file
    wants the decision of policysched. Otherwise the pod is left out, as `run` leaves it to another
    scheduler. A forced profile is used for all pods.

    Attributes:
        left_out: number of pods that were left out, keyed by schedulerName.
    """

    def __init__(
        self,
        frameworks: Mapping[str, runtime.Framework],
        forced: str | None = None,
        leaves_out: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Choose among `frameworks` by schedulerName, or always use the profile `forced`.

        `leaves_out` returns whether to leave out the pods of a schedulerName.

        Raises:
            ConfigurationError: there is no profile `forced`.
        """
        if forced is not None and forced not in frameworks:
            known = ", ".join(f"`{name}`" for name in frameworks)
            raise errors.ConfigurationError(
                "--scheduler-name", f"there is no profile `{forced}`", help=f"there is {known}"
            )
        self.left_out: Counter[str] = Counter()
        self._frameworks = frameworks
        self._forced = frameworks[forced] if forced is not None else None
        fallback = profile_names.find_fallback_profile(frameworks)
        self._fallback = frameworks[fallback] if fallback is not None else None
        self._leaves_out = leaves_out

    @property
    def policies(self) -> list[str]:
        """Names of the policies of all profiles that can be used for a pod, sorted."""
        forced = self._forced
        frameworks = self._frameworks.values() if forced is None else [forced]
        return sorted({name for each in frameworks for name in each.profile.policies})

    def choose_framework(self, info: pod_shape.PodInfo) -> runtime.Framework | None:
        """Return the framework for a pod, or None after counting the pod in `left_out`."""
        found = self._find_framework(info)
        if found is None:
            self.left_out[info.pod.spec.scheduler_name] += 1
        return found

    def serves(self, info: pod_shape.PodInfo) -> bool:
        """Return whether a profile has the schedulerName of the pod, or one is forced."""
        return self._forced is not None or info.pod.spec.scheduler_name in self._frameworks

    def would_be_queued(self, info: pod_shape.PodInfo) -> bool:
        """Return whether a scheduler would queue the pod: it has a profile and no gate.

        Does not count the pod in `left_out`.
        """
        framework = self._find_framework(info)
        return framework is not None and framework.pre_enqueue(info).is_success

    def _find_framework(self, info: pod_shape.PodInfo) -> runtime.Framework | None:
        if self._forced is not None:
            return self._forced
        name = info.pod.spec.scheduler_name
        return None if self._leaves_out(name) else self._frameworks.get(name, self._fallback)

    def require_framework(self, info: pod_shape.PodInfo) -> runtime.Framework:
        """Return the framework for a pod, or raise if there is none.

        Raises:
            ConfigurationError: no profile is used for the pod.
        """
        found = self.choose_framework(info)
        if found is None:
            name = info.pod.spec.scheduler_name
            raise errors.ConfigurationError(
                f"pod `{info.key}`",
                f"no profile serves its schedulerName `{name}`",
                help="choose a profile with --scheduler-name",
            )
        return found
