"""Messages of estimators, read and written by Google's protobuf, too."""

from __future__ import annotations

from typing import Any

import hypothesis
import msgspec
import pytest
from google.protobuf import (  # type: ignore[import-untyped] # it comes with no types
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)
from hypothesis import strategies as st

from policysched.karmada import objects
from policysched.karmada.state import estimator_messages

_Field = descriptor_pb2.FieldDescriptorProto
_TEXT, _BYTES = _Field.TYPE_STRING, _Field.TYPE_BYTES
_INT32, _INT64 = _Field.TYPE_INT32, _Field.TYPE_INT64

# By message: fields with number and type, `*` for repeated ones; the name of a message is a type.
# Maps are repeated messages with fields 1 and 2. Written down from the .proto files that
# estimator_messages.py names.
_MESSAGES: dict[str, dict[str, tuple[int, Any]]] = {
    "Request": {"cluster": (1, _TEXT), "requirements": (2, "Requirements")},
    "Requirements": {
        "claim": (1, "Claim"),
        "request": (2, "*QuantityEntry"),
        "namespace": (3, _TEXT),
        "priority": (4, _TEXT),
        "request_bytes": (5, "*BytesEntry"),
    },
    "QuantityEntry": {"key": (1, _TEXT), "value": (2, "Quantity")},
    "BytesEntry": {"key": (1, _TEXT), "value": (2, _BYTES)},
    "TextEntry": {"key": (1, _TEXT), "value": (2, _TEXT)},
    "Quantity": {"string": (1, _TEXT)},
    "Claim": {
        "affinity": (1, "Selector"),
        "labels": (2, "*TextEntry"),
        "tolerations": (3, "*Toleration"),
        "affinity_bytes": (4, _BYTES),
        "tolerations_bytes": (5, "*bytes"),
    },
    "Selector": {"terms": (1, "*Term")},
    "Term": {"expressions": (1, "*Requirement"), "fields": (2, "*Requirement")},
    "Requirement": {"key": (1, _TEXT), "operator": (2, _TEXT), "values": (3, "*string")},
    "Toleration": {
        "key": (1, _TEXT),
        "operator": (2, _TEXT),
        "value": (3, _TEXT),
        "effect": (4, _TEXT),
        "seconds": (5, _INT64),
    },
    "Answer": {"count": (1, _INT32)},
    "SetRequest": {
        "cluster": (1, _TEXT),
        "components": (2, "*Component"),
        "namespace": (3, _TEXT),
    },
    "Component": {
        "name": (1, _TEXT),
        "requirements": (2, "ComponentRequirements"),
        "replicas": (3, _INT32),
    },
    "ComponentRequirements": {
        "claim": (1, "Claim"),
        "request": (2, "*QuantityEntry"),
        "priority": (3, _TEXT),
        "request_bytes": (4, "*BytesEntry"),
    },
}


def _field(name: str, number: int, kind: Any) -> descriptor_pb2.FieldDescriptorProto:
    made = _Field(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if isinstance(kind, str) and kind.startswith("*"):
        made.label, kind = _Field.LABEL_REPEATED, kind[1:]
        kind = {"bytes": _BYTES, "string": _TEXT}.get(kind, kind)
    if isinstance(kind, str):
        made.type, made.type_name = _Field.TYPE_MESSAGE, f".{kind}"
    else:
        made.type = kind
    return made


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="estimator.proto", syntax="proto2")
    for message, fields in _MESSAGES.items():
        made = file.message_type.add(name=message)
        made.field.extend(_field(name, *said) for name, said in fields.items())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        for name in _MESSAGES
    }


CLASSES = _classes()
TEXTS = st.text(max_size=6)
EXPRESSIONS = st.lists(
    st.fixed_dictionaries(
        {"key": TEXTS, "operator": st.sampled_from(["In", "Exists"])},
        optional={"values": st.lists(TEXTS, max_size=3)},
    ),
    max_size=2,
)
CLAIMS = st.fixed_dictionaries(
    {},
    optional={
        "hardNodeAffinity": st.fixed_dictionaries(
            {
                "nodeSelectorTerms": st.lists(
                    st.fixed_dictionaries(
                        {}, optional={"matchExpressions": EXPRESSIONS, "matchFields": EXPRESSIONS}
                    ),
                    max_size=2,
                )
            }
        ),
        "nodeSelector": st.dictionaries(TEXTS, TEXTS, max_size=3),
        "tolerations": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    **dict.fromkeys(("key", "operator", "value", "effect"), TEXTS),
                    "tolerationSeconds": st.integers(-(2**63), 2**63 - 1),
                },
            ),
            max_size=3,
        ),
    },
)
REQUIREMENTS = st.fixed_dictionaries(
    {},
    optional={
        "nodeClaim": CLAIMS,
        "resourceRequest": st.dictionaries(
            st.text(min_size=1, max_size=200), st.sampled_from(["1", "250m", "1Gi", 4]), max_size=3
        ),
        "namespace": TEXTS,
        "priorityClassName": TEXTS,
    },
)


@hypothesis.given(REQUIREMENTS)
def test_requests_say_what_a_replica_asks_for(asked: dict[str, Any]) -> None:
    """Every field is where the .proto files have it, and its twin in bytes says the same."""
    made = estimator_messages.encode_replica_requirements(
        msgspec.convert(asked, objects.ReplicaRequirements)
    )
    request = CLASSES["Request"].FromString(
        estimator_messages.encode_estimate_request("member1", made)
    )
    assert request.cluster == "member1"
    assert request.HasField("requirements")
    said = request.requirements
    assert said.namespace == asked.get("namespace", "")
    assert said.priority == asked.get("priorityClassName", "")
    amounts = {key: str(amount) for key, amount in asked.get("resourceRequest", {}).items()}
    assert {one.key: one.value.string for one in said.request} == amounts
    twin = {one.key: CLASSES["Quantity"].FromString(one.value) for one in said.request_bytes}
    assert {key: value.string for key, value in twin.items()} == amounts
    assert said.HasField("claim") == ("nodeClaim" in asked)
    _check_claim(said.claim, asked.get("nodeClaim", {}))


def _check_claim(said: Any, asked: dict[str, Any]) -> None:
    assert {one.key: one.value for one in said.labels} == asked.get("nodeSelector", {})
    assert said.HasField("affinity") == ("hardNodeAffinity" in asked)
    for affinity in (said.affinity, CLASSES["Selector"].FromString(said.affinity_bytes)):
        assert [
            {"matchExpressions": _plain(term.expressions), "matchFields": _plain(term.fields)}
            for term in affinity.terms
        ] == [
            {"matchExpressions": [], "matchFields": []}
            | {key: [{"values": []} | one for one in value] for key, value in term.items()}
            for term in asked.get("hardNodeAffinity", {}).get("nodeSelectorTerms", [])
        ]
    twins = [CLASSES["Toleration"].FromString(one) for one in said.tolerations_bytes]
    for tolerations in (said.tolerations, twins):
        assert [
            (one.key, one.operator, one.value, one.effect, one.HasField("seconds"), one.seconds)
            for one in tolerations
        ] == [
            (
                *(one.get(key, "") for key in ("key", "operator", "value", "effect")),
                "tolerationSeconds" in one,
                one.get("tolerationSeconds", 0),
            )
            for one in asked.get("tolerations", [])
        ]


def _plain(requirements: Any) -> list[dict[str, Any]]:
    return [
        {"key": one.key, "operator": one.operator, "values": list(one.values)}
        for one in requirements
    ]


@hypothesis.given(
    st.lists(
        st.fixed_dictionaries(
            {"name": TEXTS, "replicas": st.integers(0, 2**31 - 1)},
            optional={"replicaRequirements": REQUIREMENTS},
        ),
        max_size=3,
    )
)
def test_requests_say_what_a_set_of_components_asks_for(asked: list[dict[str, Any]]) -> None:
    """Each component with its name, number and requirements; the namespace is that of all."""
    about = estimator_messages.encode_component_set(
        msgspec.convert(asked, tuple[objects.Component, ...]), "shop"
    )
    request = CLASSES["SetRequest"].FromString(
        estimator_messages.encode_estimate_request("member1", about)
    )
    assert (request.cluster, request.namespace) == ("member1", "shop")
    for said, one in zip(request.components, asked, strict=True):
        assert (said.name, said.replicas) == (one["name"], one["replicas"])
        assert said.HasField("requirements") == ("replicaRequirements" in one)
        requirements = one.get("replicaRequirements", {})
        amounts = {key: str(v) for key, v in requirements.get("resourceRequest", {}).items()}
        found = said.requirements
        assert {each.key: each.value.string for each in found.request} == amounts
        twin = {
            each.key: CLASSES["Quantity"].FromString(each.value) for each in found.request_bytes
        }
        assert {key: value.string for key, value in twin.items()} == amounts
        assert found.priority == requirements.get("priorityClassName", "")
        _check_claim(found.claim, requirements.get("nodeClaim", {}))


def test_without_requirements_there_is_no_field_for_them() -> None:
    """The estimator tells a replica that asks for nothing from one that nobody describes."""
    made = estimator_messages.encode_estimate_request(
        "m", estimator_messages.encode_replica_requirements(None)
    )
    assert not CLASSES["Request"].FromString(made).HasField("requirements")


@hypothesis.given(st.integers(-(2**31), 2**31 - 1))
def test_a_number_is_read_as_it_was_written(number: int) -> None:
    """Negative ones, too."""
    written = CLASSES["Answer"](count=number).SerializeToString()
    assert estimator_messages.decode_replica_count(written) == number


@hypothesis.given(st.binary(max_size=30))
def test_whatever_comes_is_a_number_or_an_error(answer: bytes) -> None:
    """Where protobuf reads a message we read the same number from it, in the same range."""
    try:
        ours: int | None = estimator_messages.decode_replica_count(answer)
    except estimator_messages.EstimatorMessageError:
        ours = None
    assert ours is None or -(2**31) <= ours < 2**31
    try:
        theirs = CLASSES["Answer"].FromString(answer).count
    except Exception:  # noqa: BLE001 - whatever protobuf raises at what is no message
        return
    assert ours in (theirs, None)


@pytest.mark.parametrize(
    "answer, expected",
    [
        (b"", 0),
        (b"\x10\x05\x08\x07", 7),
        (b"\x12\x02ab\x08\x07", 7),
        (b"\x15abcd\x19abcdefgh\x08\x07", 7),
        (b"\x08\x01\x08\x07", 7),
        (b"\x08\x80\x80\x80\x80\x10", 0),
    ],
    ids=["nothing", "another-number", "a-text", "fixed-sizes", "twice", "beyond-32-bits"],
)
def test_what_is_unknown_is_passed_over(answer: bytes, expected: int) -> None:
    """A newer estimator may say more."""
    assert estimator_messages.decode_replica_count(answer) == expected


@pytest.mark.parametrize(
    "answer", [b"\x08", b"\x08\xff", b"\x12\x05a", b"\x0b", b"\x00\x01", b"\xff" * 12], ids=repr
)
def test_what_is_cut_short_is_an_error(answer: bytes) -> None:
    """So is a group, and a field without a number."""
    with pytest.raises(estimator_messages.EstimatorMessageError):
        estimator_messages.decode_replica_count(answer)
