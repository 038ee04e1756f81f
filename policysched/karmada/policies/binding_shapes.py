"""Bindings as pods: the properties of the propagated resource that a clusterPolicy reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.cluster.objects import fields_as_labels, objects
from policysched.cluster.pods import pod_shape

if TYPE_CHECKING:
    from policysched.karmada import objects as karmada_objects


def convert_binding_to_pod(binding: karmada_objects.Binding) -> objects.Pod:
    """Return a pod with the properties of a binding that policies read.

    Its namespace is that of the resource, or "" for a cluster-scoped one. Its labels and
    annotations are those of the binding, because a scheduler does not know those of the resource.
    Its requests are those of one replica.
    """
    meta, spec = binding.metadata, binding.spec
    resource, requirements = spec.resource, spec.replica_requirements
    fields = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "resourceName": resource.name,
    }
    requests = {} if requirements is None else requirements.resource_request
    asked = objects.ResourceRequirements(requests=requests)
    priority = spec.schedule_priority
    return objects.Pod(
        metadata=objects.ObjectMeta(
            name=meta.name,
            namespace=resource.namespace,
            uid=meta.uid,
            labels=fields_as_labels.make_field_labels(meta.labels, fields, {}),
            annotations=meta.annotations,
        ),
        spec=objects.PodSpec(
            priority=None if priority is None else priority.priority,
            containers=(objects.Container(resources=asked),),
        ),
    )


class BindingPodInfoCache:
    """Converts bindings into pods with shapes; keeps the pod of the latest binding for reuse."""

    def __init__(self, annotation_keys: frozenset[str]) -> None:
        """Read the annotations with these keys."""
        self._shapes = pod_shape.PodShapeCache(annotation_keys)
        self._last: tuple[karmada_objects.Binding | None, pod_shape.PodInfo | None] = None, None

    def make_pod_info(self, binding: karmada_objects.Binding) -> pod_shape.PodInfo:
        """Return the pod that represents a binding, with its shape."""
        last, known = self._last
        if known is None or last is not binding:
            known = self._shapes.make_info(convert_binding_to_pod(binding))
            self._last = binding, known
        return known
