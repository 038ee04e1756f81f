"""Find the node that a text names, because exporters and scrape configs name nodes differently.

Prometheus' node discovery sets `instance` to the address and port of the node. Helm charts set
`instance` or `node` to the name of the node, and cloud discovery uses its private DNS name. The
result of the first of these steps that finds a node is used:

1. the name of a node;
2. an address in its status, or its label kubernetes.io/hostname;
3. the same after removing a port: `10.0.0.7:9100`, `[fd00::7]:9100`, `node-7:9100`;
4. its name without the domain, if only the text or only the name has one: `node-7.example.com`.

Step 1 finds at most one node, because names are unique. Addresses need not be unique. From step 2
on, the case and surrounding spaces of the text are ignored.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from policysched.cluster.objects import objects

HOSTNAME_LABEL = "kubernetes.io/hostname"

_ADDRESS_TYPES = {"InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"}
_FEWEST_COLONS_OF_IPV6 = 2
_MAX_REMEMBERED_PER_NODE = 8
"""Bounds the cache; exporters can name a node in a few different ways."""

_WITH_PORT = re.compile(r"(?:\[(?P<ipv6>[^\]]+)\]|(?P<host>[^:\[\]]+)):[0-9]{1,5}")


class NodeAliasIndex:
    """An index of nodes by all their names and addresses.

    `update_indexed_nodes` keeps it up to date.
    """

    def __init__(self, nodes: Iterable[objects.Node] = ()) -> None:
        """Index `nodes`."""
        self._nodes: dict[str, objects.Node] = {}
        self._aliases: dict[str, set[str]] = {}
        self._short_names: dict[str, set[str]] = {}
        self._found: dict[str, frozenset[str]] = {}
        self.update_indexed_nodes(nodes)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._nodes)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a node with this name."""
        return name in self._nodes

    def get_node_uid(self, name: str) -> str | None:
        """Return the uid of a node, or None; a new node with the same name has another uid."""
        node = self._nodes.get(name)
        return None if node is None else node.metadata.uid

    def update_indexed_nodes(self, nodes: Iterable[objects.Node]) -> None:
        """Update the index to `nodes`; unchanged node objects cost nothing."""
        now = {node.name: node for node in nodes}
        for name, old in list(self._nodes.items()):
            if now.get(name) is not old:
                self._remove(name)
        for name, node in now.items():
            if name not in self._nodes:
                self._add(node)

    def find_nodes(self, text: str) -> frozenset[str]:
        """Return the names of the nodes that `text` can mean; several if it is ambiguous."""
        found = self._found.get(text)
        if found is None:
            if len(self._found) >= _MAX_REMEMBERED_PER_NODE * (1 + len(self._nodes)):
                self._found.clear()
            found = self._found[text] = self._find_nodes_uncached(text)
        return found

    def _find_nodes_uncached(self, text: str) -> frozenset[str]:
        """Try the steps of the module docstring in order; the first match is used."""
        if text in self._nodes:
            return frozenset((text,))
        host = text.strip().lower()
        found = self._find_nodes_by_full_name(host)
        if found:
            return found
        matched = _WITH_PORT.fullmatch(host)
        if matched:
            host = matched["ipv6"] or matched["host"]
            found = self._find_nodes_by_full_name(host)
        return found or self._find_nodes_by_short_name(host)

    def _find_nodes_by_full_name(self, host: str) -> frozenset[str]:
        if host in self._nodes:
            return frozenset((host,))
        return frozenset(self._aliases.get(_normalise_ipv6_host(host), ()))

    def _find_nodes_by_short_name(self, host: str) -> frozenset[str]:
        """Match a name with a domain to node names without one, and the reverse."""
        short = host.partition(".")[0]
        if not short or _is_ip(host):
            return frozenset()
        if short != host:
            return frozenset((short,)) if short in self._nodes else frozenset()
        return frozenset(self._short_names.get(short, ()))

    def _add(self, node: objects.Node) -> None:
        self._found.clear()
        self._nodes[node.name] = node
        for alias in _list_node_aliases(node):
            self._aliases.setdefault(alias, set()).add(node.name)
        self._short_names.setdefault(node.name.partition(".")[0], set()).add(node.name)

    def _remove(self, name: str) -> None:
        self._found.clear()
        node = self._nodes.pop(name)
        for alias in _list_node_aliases(node):
            _discard_node_alias(self._aliases, alias, name)
        _discard_node_alias(self._short_names, name.partition(".")[0], name)


def _list_node_aliases(node: objects.Node) -> set[str]:
    found = {a.address for a in node.status.addresses if a.type in _ADDRESS_TYPES}
    found.add(node.metadata.labels.get(HOSTNAME_LABEL, ""))
    return {_normalise_ipv6_host(alias.lower()) for alias in found if alias}


def _discard_node_alias(index: dict[str, set[str]], key: str, name: str) -> None:
    index[key].discard(name)
    if not index[key]:
        del index[key]


def _normalise_ipv6_host(host: str) -> str:
    """Return the canonical form of an IPv6 address, or any other text unchanged."""
    if host.count(":") < _FEWEST_COLONS_OF_IPV6:
        return host
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
