"""Encode and decode messages of karmada-scheduler-estimator in the protobuf wire format.

The few messages contain only strings, numbers, and Kubernetes messages for quantities, affinities
and tolerations. Therefore they are encoded by field number, without generated code.

Sources: Karmada v1.18.2 `pkg/estimator/pb/estimator.proto`, Kubernetes v1.36
`k8s.io/api/core/v1/generated.proto` and `k8s.io/apimachinery/pkg/api/resource/generated.proto`, the
protobuf encoding guide. Each field with a Kubernetes message has a second field with the same
content as bytes. Newer estimators read the second field, older estimators only the first; both
fields have the same encoding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from policysched.cluster.objects import objects as core
    from policysched.karmada import objects

SERVICE: Final = "github.com.karmada_io.karmada.pkg.estimator.service.Estimator"
MAX_AVAILABLE_REPLICAS: Final = f"/{SERVICE}/MaxAvailableReplicas"
MAX_AVAILABLE_SETS: Final = f"/{SERVICE}/MaxAvailableComponentSets"

_VARINT, _BYTES = 0, 2
_MAX_VARINT_BYTES = 10
_LOW_BITS, _MORE = 0x7F, 0x80  # varint masks: bits of the number, flag that a byte follows
_INT32_SIGN, _INT32_RANGE = 2**31, 2**32


class EstimatorMessageError(Exception):
    """An answer is not a valid protobuf message."""


def encode_estimate_request(cluster: str, about: bytes) -> bytes:
    """Encode a request to the estimator of a cluster.

    `about` is the result of `encode_replica_requirements` for `MAX_AVAILABLE_REPLICAS`, or of
    `encode_component_set` for `MAX_AVAILABLE_SETS`.
    """
    return _encode_text_field(1, cluster) + about


def encode_replica_requirements(asked: objects.ReplicaRequirements | None) -> bytes:
    """Encode the request field for the requirements of a replica; b"" without requirements."""
    if asked is None:
        return b""
    amounts = {
        name: _encode_text_field(1, str(amount)) for name, amount in asked.resource_request.items()
    }
    return _encode_field(
        2,
        _encode_node_claim(asked.node_claim)
        + _encode_map_field(2, amounts)
        + _encode_text_field(3, asked.namespace)
        + _encode_text_field(4, asked.priority_class_name)
        + _encode_map_field(5, amounts),
    )


def encode_component_set(components: Sequence[objects.Component], namespace: str) -> bytes:
    """Encode the request fields for the requirements of a set of components."""
    return b"".join(
        _encode_field(2, _encode_component(each)) for each in components
    ) + _encode_text_field(3, namespace)


def _encode_component(component: objects.Component) -> bytes:
    """Encode a component with its requirements and number of replicas."""
    asked = component.replica_requirements
    message = _encode_text_field(1, component.name)
    if asked is not None:
        amounts = {
            name: _encode_text_field(1, str(amount))
            for name, amount in asked.resource_request.items()
        }
        said = (
            _encode_node_claim(asked.node_claim)
            + _encode_map_field(2, amounts)
            + _encode_text_field(3, asked.priority_class_name)
        )
        message += _encode_field(2, said + _encode_map_field(4, amounts))
    return message + _encode_varint(3 << 3 | _VARINT) + _encode_varint(component.replicas % 2**64)


def decode_replica_count(answer: bytes) -> int:
    """Decode the number in an answer as int32; return 0 if it is absent.

    Raises:
        EstimatorMessageError: the answer is not a valid message.
    """
    found = 0
    for number, kind, value in _iterate_message_fields(answer):
        if number == 1 and kind == _VARINT:
            found = value
    return (found + _INT32_SIGN) % _INT32_RANGE - _INT32_SIGN


# --- writing -------------------------------------------------------------------------------------


def _encode_node_claim(claim: objects.NodeClaim | None) -> bytes:
    """Encode a node claim; each Kubernetes message is in two fields."""
    if claim is None:
        return b""
    affinity = claim.hard_node_affinity
    selected = b"" if affinity is None else _encode_node_selector(affinity)
    tolerated = [_encode_toleration(each) for each in claim.tolerations]
    labels = {key: value.encode() for key, value in claim.node_selector.items()}
    message = b"" if affinity is None else _encode_field(1, selected)
    message += _encode_map_field(2, labels) + b"".join(_encode_field(3, each) for each in tolerated)
    message += b"" if affinity is None else _encode_field(4, selected)
    return _encode_field(1, message + b"".join(_encode_field(5, each) for each in tolerated))


def _encode_node_selector(selector: core.NodeSelector) -> bytes:
    return b"".join(
        _encode_field(1, _encode_node_term(term)) for term in selector.node_selector_terms
    )


def _encode_node_term(term: core.NodeSelectorTerm) -> bytes:
    expressions = b"".join(
        _encode_field(1, _encode_node_requirement(each)) for each in term.match_expressions
    )
    return expressions + b"".join(
        _encode_field(2, _encode_node_requirement(each)) for each in term.match_fields
    )


def _encode_node_requirement(asked: core.SelectorRequirement) -> bytes:
    values = b"".join(_encode_field(3, value.encode()) for value in asked.values)
    return _encode_text_field(1, asked.key) + _encode_text_field(2, asked.operator) + values


def _encode_toleration(toleration: objects.TimedToleration) -> bytes:
    """Encode a toleration; its seconds are a varint."""
    texts = (toleration.key, toleration.operator, toleration.value, toleration.effect)
    message = b"".join(
        _encode_text_field(number, text) for number, text in enumerate(texts, start=1)
    )
    if toleration.toleration_seconds is not None:
        message += _encode_varint(5 << 3 | _VARINT) + _encode_varint(
            toleration.toleration_seconds % 2**64
        )
    return message


def _encode_map_field(number: int, entries: Mapping[str, bytes]) -> bytes:
    """Encode a map: each entry is a message with the key in field 1 and the value in field 2."""
    return b"".join(
        _encode_field(number, _encode_field(1, key.encode()) + _encode_field(2, value))
        for key, value in entries.items()
    )


def _encode_text_field(number: int, text: str) -> bytes:
    return _encode_field(number, text.encode()) if text else b""


def _encode_field(number: int, payload: bytes) -> bytes:
    return _encode_varint(number << 3 | _BYTES) + _encode_varint(len(payload)) + payload


def _encode_varint(value: int) -> bytes:
    written = bytearray()
    while value > _LOW_BITS:
        written.append(value & _LOW_BITS | _MORE)
        value >>= 7
    written.append(value)
    return bytes(written)


# --- reading -------------------------------------------------------------------------------------


def _iterate_message_fields(message: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the number, the wire type and, for a varint, the value of each field."""
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        kind, value = tag & 7, 0
        match kind:
            case 0:
                value, at = _read_varint(message, at)
            case 1:
                at += 8
            case 2:
                length, at = _read_varint(message, at)
                at += length
            case 5:
                at += 4
            case _:
                raise EstimatorMessageError(f"a field has the unknown type {kind}")
        if at > len(message) or tag >> 3 == 0:
            raise EstimatorMessageError("a field is truncated or has no number")
        yield tag >> 3, kind, value


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at `at`, and the index after it."""
    value = 0
    for place, byte in enumerate(message[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & _LOW_BITS) << (7 * place)
        if byte < _MORE:
            return value, at + place + 1
    raise EstimatorMessageError("a number is truncated")
