"""Store the selectors of services and controllers, which group pods.

Default spread constraints have no selector; they use the selectors of the pod's services and of its
controller.
"""

from __future__ import annotations

import enum

from policysched.cluster.objects import selectors
from policysched.cluster.pods import pod_shape


class OwnerKind(enum.Enum):
    """Kinds of objects that select pods; the value is (apiVersion, kind)."""

    SERVICE = ("v1", "Service")
    REPLICATION_CONTROLLER = ("v1", "ReplicationController")
    REPLICA_SET = ("apps/v1", "ReplicaSet")
    STATEFUL_SET = ("apps/v1", "StatefulSet")


_CONTROLLERS = {kind.value: kind for kind in OwnerKind if kind is not OwnerKind.SERVICE}


class OwnerSelectors:
    """The pod selectors of all services and controllers, updated by watch events."""

    def __init__(self) -> None:
        """Start without selectors."""
        self.generation = 0
        """A number that increases with every change."""
        self._selectors: dict[tuple[OwnerKind, str], dict[str, selectors.Selector]] = {}

    def set_selector(
        self, kind: OwnerKind, namespace: str, name: str, selector: selectors.Selector | None
    ) -> None:
        """Set the selector of one object; None if the object is gone or selects nothing."""
        by_name = self._selectors.setdefault((kind, namespace), {})
        if by_name.get(name) == selector:
            return
        if selector is None:
            del by_name[name]
        else:
            by_name[name] = selector
        self.generation += 1

    def get_owner_selector(self, shape: pod_shape.PodShape) -> selectors.Selector:
        """Return the conjunction of the selectors of a pod's services and of its controller.

        For a pod without services and without a controller, the result matches everything.
        Requirements of a ReplicationController replace those of services with the same label key.

        Source: `plugins/helper/spread.go`, DefaultSelector.
        """
        services = self._selectors.get((OwnerKind.SERVICE, shape.namespace), {}).values()
        found = [r for s in services if s.matches(shape.labels) for r in s.requirements]
        owner = shape.owner
        kind = _CONTROLLERS.get((owner.api_version, owner.kind)) if owner else None
        if owner and kind:
            controller = self._selectors.get((kind, shape.namespace), {}).get(owner.name)
            own = controller.requirements if controller else ()
            if kind is OwnerKind.REPLICATION_CONTROLLER:
                keys = {r.key for r in own}
                found = [r for r in found if r.key not in keys]
            found += own
        return selectors.EVERYTHING.add_requirements(*found) if found else selectors.EVERYTHING
