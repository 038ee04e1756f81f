from __future__ import annotations

import pytest

from policysched.cluster.objects import node_aliases, objects


def _node(
    name: str, *addresses: tuple[str, str], hostname: str = "", uid: str = ""
) -> objects.Node:
    found = tuple(objects.NodeAddress(kind, address) for kind, address in addresses)
    labels = {node_aliases.HOSTNAME_LABEL: hostname} if hostname else {}
    return objects.Node(
        objects.ObjectMeta(name=name, uid=uid, labels=labels),
        status=objects.NodeStatus(addresses=found),
    )


NODES = (
    _node("node-1", ("InternalIP", "10.0.0.1"), ("InternalIP", "fd00::1"), hostname="Host-1"),
    _node("node-2", ("InternalIP", "10.0.0.2"), ("Hostname", "host-2"), ("ExternalIP", "1.2.3.4")),
    _node("node-3.example.com", ("InternalIP", "10.0.0.3"), ("InternalDNS", "ip-10-0-0-3.ec2")),
    _node("twin-a", ("InternalIP", "10.0.0.9"), hostname="twin"),
    _node("twin-b", ("InternalIP", "10.0.0.9"), hostname="twin"),
    _node("10", ("InternalIP", "10.0.0.10")),
    _node("web.east", ("InternalIP", "10.0.0.11")),
    _node("web.west", ("InternalIP", "10.0.0.12")),
    _node("twin", ("InternalIP", "10.0.0.13")),
    _node("lost", ("Pod", "10.0.0.14"), ("InternalIP", "")),
)


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("node-1", ["node-1"], id="name"),
        pytest.param("NODE-1", ["node-1"], id="name-in-capitals"),
        pytest.param(" node-1 ", ["node-1"], id="blanks"),
        pytest.param("10.0.0.1", ["node-1"], id="internal-ip"),
        pytest.param("10.0.0.1:9100", ["node-1"], id="ip-and-port"),
        pytest.param("node-1:9100", ["node-1"], id="name-and-port"),
        pytest.param("host-1", ["node-1"], id="hostname-label"),
        pytest.param("host-1:443", ["node-1"], id="hostname-and-port"),
        pytest.param("host-2", ["node-2"], id="hostname-address"),
        pytest.param("1.2.3.4:9100", ["node-2"], id="external-ip"),
        pytest.param("[fd00::1]:9100", ["node-1"], id="ipv6-and-port"),
        pytest.param("fd00::1", ["node-1"], id="ipv6"),
        pytest.param("fd00:0:0::1", ["node-1"], id="ipv6-spelled-otherwise"),
        pytest.param("node-3.example.com", ["node-3.example.com"], id="fqdn"),
        pytest.param("node-3", ["node-3.example.com"], id="short-name-of-fqdn"),
        pytest.param("node-3:9100", ["node-3.example.com"], id="short-name-and-port"),
        pytest.param("node-1.example.com", ["node-1"], id="fqdn-of-short-name"),
        pytest.param("node-1.example.com:9100", ["node-1"], id="fqdn-of-short-name-and-port"),
        pytest.param("node-3.other.com", [], id="two-different-domains"),
        pytest.param("ip-10-0-0-3.ec2", ["node-3.example.com"], id="internal-dns"),
        pytest.param("10.0.0.9", ["twin-a", "twin-b"], id="shared-ip"),
        pytest.param("10.0.0.9:9100", ["twin-a", "twin-b"], id="shared-ip-and-port"),
        pytest.param("twin", ["twin"], id="name-before-hostname"),
        pytest.param("web", ["web.east", "web.west"], id="short-name-of-two"),
        pytest.param("10.9.9.9", [], id="an-address-has-no-short-name"),
        pytest.param("10", ["10"], id="a-number-is-a-name"),
        pytest.param("10.0.0.14", [], id="another-type-of-address"),
        pytest.param("node-4", [], id="unknown"),
        pytest.param("", [], id="empty"),
        pytest.param(":9100", [], id="port-alone"),
        pytest.param("fd00::1:9100", [], id="ipv6-without-brackets-is-another-address"),
        pytest.param("node-1:port", [], id="no-port"),
        pytest.param("\ud800", [], id="surrogate"),
    ],
)
def test_what_a_text_names(text: str, expected: list[str]) -> None:
    """The first way of reading it that any node answers to decides; it may answer twice."""
    assert sorted(node_aliases.NodeAliasIndex(NODES).find_nodes(text)) == expected


def test_nodes_come_change_and_go() -> None:
    """Only what is there now is found, under what it is called now."""
    names = node_aliases.NodeAliasIndex(NODES)
    twin_a = NODES[3]
    moved = _node("node-1", ("InternalIP", "10.0.0.77"), uid="new")
    names.update_indexed_nodes([moved, twin_a])
    assert len(names) == 2
    assert (
        names.find_nodes("10.0.0.1:9100")
        == names.find_nodes("node-2")
        == names.find_nodes("node-3")
        == set()
    )
    assert names.find_nodes("10.0.0.77") == {"node-1"}
    assert names.find_nodes("twin") == names.find_nodes("10.0.0.9") == {"twin-a"}
    assert (names.get_node_uid("node-1"), names.get_node_uid("node-2")) == ("new", None)
    assert ("node-1" in names, "node-2" in names) == (True, False)
    names.update_indexed_nodes([])
    assert len(names) == 0
    assert names._aliases == names._short_names == {}
