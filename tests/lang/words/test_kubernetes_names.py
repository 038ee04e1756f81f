from __future__ import annotations

import pytest

from policysched.lang.words import kubernetes_names


@pytest.mark.parametrize(
    "key, is_fine",
    [
        ("app", True),
        ("A.b_c-9", True),
        ("node.kubernetes.io/instance-type", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("", False),
        ("-a", False),
        ("a-", False),
        ("a b", False),
        ("/a", False),
        ("a/", False),
        ("a/b/c", False),
        ("Example.com/a", False),
        ("a..b/c", False),
        ("a" * 253 + "/b", True),
        ("a" * 254 + "/b", False),
        ("a\n", False),
    ],
)
def test_label_keys(key: str, is_fine: bool) -> None:
    """Kubernetes' IsQualifiedName."""
    assert (kubernetes_names.find_label_key_problem(key) == "") is is_fine


@pytest.mark.parametrize(
    "value, is_fine",
    [
        ("", True),
        ("a", True),
        ("1.5", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("_a", False),
        ("a/b", False),
        ("ä", False),
    ],
)
def test_label_values(value: str, is_fine: bool) -> None:
    """Kubernetes' IsValidLabelValue: empty is fine."""
    assert (kubernetes_names.find_label_value_problem(value) == "") is is_fine


@pytest.mark.parametrize(
    "name, is_fine",
    [
        ("cpu", True),
        ("pods", True),
        ("hugepages-1Gi", True),
        ("nvidia.com/gpu", True),
        ("gpu", False),
        ("CPU", False),
        ("Nvidia.com/gpu", False),
    ],
)
def test_resources(name: str, is_fine: bool) -> None:
    """Native ones by name, extended ones by their domain."""
    assert (kubernetes_names.find_resource_name_problem(name) == "") is is_fine
