"""Convert bindings to pods with the properties that a clusterPolicy reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.cluster.objects import fields_as_labels, objects
from policysched.cluster.pods import pod_shape

if TYPE_CHECKING:
    from policysched.karmada import objects as karmada_objects


def convert_binding_to_pod(binding: karmada_objects.Binding) -> objects.Pod:
    """Return a pod with the properties of a binding that policies read.

    The pod has the namespace of the resource, or "" for a cluster-scoped resource. It has the
    labels and annotations of the binding, because a scheduler does not read the resource itself,
    and the requests of one replica.
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
    """Converts bindings to pods with shapes, and caches the pod of the last binding."""

    def __init__(self, annotation_keys: frozenset[str]) -> None:
        """Include the annotations with the keys `annotation_keys` in shapes."""
        self._shapes = pod_shape.PodShapeCache(annotation_keys)
        self._last: tuple[karmada_objects.Binding | None, pod_shape.PodInfo | None] = None, None

    def make_pod_info(self, binding: karmada_objects.Binding) -> pod_shape.PodInfo:
        """Return the pod that represents a binding, with its shape."""
        last, known = self._last
        if known is None or last is not binding:
            known = self._shapes.make_pod_info(convert_binding_to_pod(binding))
            self._last = binding, known
        return known
