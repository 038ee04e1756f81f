"""IP addresses and networks. Source: `k8s.io/apiserver/pkg/cel/library/{ip,cidr}.go`."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Final, TypeAlias

from policysched.cel.failures import EvaluationError, make_overload_error
from policysched.cel.overloads import define, define_method
from policysched.cel.static_types import BOOL, CIDR, INT, IP, STRING
from policysched.cel.values import StrictValue, Value, register_type

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_PREFIX_LENGTH = re.compile(r"0|[1-9][0-9]{0,2}")
_LINK_LOCAL_MULTICAST: Final = ipaddress.IPv4Network("224.0.0.0/24")
_LINK_LOCAL: Final = (ipaddress.IPv4Network("169.254.0.0/16"), ipaddress.IPv6Network("fe80::/10"))
_BROADCAST: Final = ipaddress.IPv4Address("255.255.255.255")
_SCOPE_SHIFT, _SCOPE_MASK, _LINK_SCOPE = 112, 0xFF0F, 0xFF02
"""The first 16 bits of an IPv6 multicast address, without its flags, name the scope."""


@dataclasses.dataclass(frozen=True, slots=True)
class IPValue(StrictValue):
    """An address."""

    address: _Address

    def equals(self, other: Value) -> bool:
        """Return whether the addresses are equal."""
        if type(other) is not IPValue:
            raise make_overload_error()
        return self.address == other.address


@dataclasses.dataclass(frozen=True, slots=True)
class CIDRValue(StrictValue):
    """An address with a prefix length; its host bits count."""

    address: _Address
    length: int

    def equals(self, other: Value) -> bool:
        """Return whether address and length are equal."""
        if type(other) is not CIDRValue:
            raise make_overload_error()
        return (self.address, self.length) == (other.address, other.length)

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """The network without host bits."""
        return ipaddress.ip_network(f"{self.address}/{self.length}", strict=False)


register_type(IPValue, IP.name)
register_type(CIDRValue, CIDR.name)


@define("ip", (STRING,), IP)
def parse_ip(text: str) -> IPValue:
    """Return the address of a text.

    Raises:
        EvaluationError: it is not an address, has a zone, or is an IPv4 address in IPv6.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise EvaluationError(
            f'IP Address "{text}" parse error during conversion from string'
        ) from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return IPValue(address)


@define("isIP", (STRING,), BOOL)
def is_ip(text: str) -> bool:
    """Return whether a text is an address."""
    try:
        parse_ip(text)
    except EvaluationError:
        return False
    return True


@define("ip.isCanonical", (STRING,), BOOL)
def is_canonical(text: str) -> bool:
    """Return whether the text is how the address is written."""
    return str(parse_ip(text).address) == text


@define("string", (IP,), STRING)
def format_ip(value: IPValue) -> str:
    """Return the text of an address."""
    return str(value.address)


@define_method("family", (IP,), INT)
def get_family(value: IPValue) -> int:
    """Return 4 or 6."""
    return value.address.version


@define_method("isUnspecified", (IP,), BOOL)
def is_unspecified(value: IPValue) -> bool:
    """Return whether all bits are 0."""
    return value.address.is_unspecified


@define_method("isLoopback", (IP,), BOOL)
def is_loopback(value: IPValue) -> bool:
    """Return whether the address is in 127.0.0.0/8, or ::1."""
    return value.address.is_loopback


@define_method("isLinkLocalMulticast", (IP,), BOOL)
def is_link_local_multicast(value: IPValue) -> bool:
    """Return whether the address is a multicast address of the link."""
    if isinstance(value.address, ipaddress.IPv4Address):
        return value.address in _LINK_LOCAL_MULTICAST
    return (int(value.address) >> _SCOPE_SHIFT) & _SCOPE_MASK == _LINK_SCOPE


@define_method("isLinkLocalUnicast", (IP,), BOOL)
def is_link_local_unicast(value: IPValue) -> bool:
    """Return whether the address is in 169.254.0.0/16 or fe80::/10."""
    return any(value.address in network for network in _LINK_LOCAL)


@define_method("isGlobalUnicast", (IP,), BOOL)
def is_global_unicast(value: IPValue) -> bool:
    """Return whether the address has none of the special uses above; private ones count."""
    address = value.address
    is_special = address.is_unspecified or address.is_loopback or address.is_multicast
    return not is_special and address != _BROADCAST and not is_link_local_unicast(value)


@define("cidr", (STRING,), CIDR)
def parse_cidr(text: str) -> CIDRValue:
    """Return the network of a text such as `10.0.0.0/8`.

    Raises:
        EvaluationError: it is not a network in CIDR notation.
    """
    host, _, length = text.rpartition("/")
    failure = EvaluationError("network address parse error during conversion from string")
    if not host or _PREFIX_LENGTH.fullmatch(length) is None:
        raise failure
    address = parse_ip(host).address
    if int(length) > address.max_prefixlen:
        raise failure
    return CIDRValue(address, int(length))


@define("isCIDR", (STRING,), BOOL)
def is_cidr(text: str) -> bool:
    """Return whether a text is a network."""
    try:
        parse_cidr(text)
    except EvaluationError:
        return False
    return True


@define("string", (CIDR,), STRING)
def format_cidr(value: CIDRValue) -> str:
    """Return the text of a network."""
    return f"{value.address}/{value.length}"


@define_method("containsIP", (CIDR, IP), BOOL)
def contains_ip(value: CIDRValue, other: IPValue) -> bool:
    """Return whether an address is in the network."""
    return other.address in value.network


@define_method("containsIP", (CIDR, STRING), BOOL)
def contains_ip_text(value: CIDRValue, other: str) -> bool:
    """Return whether an address is in the network."""
    try:
        return contains_ip(value, parse_ip(other))
    except EvaluationError:
        raise make_overload_error() from None


@define_method("containsCIDR", (CIDR, CIDR), BOOL)
def contains_cidr(value: CIDRValue, other: CIDRValue) -> bool:
    """Return whether a network is in the network."""
    return value.length <= other.length and other.address in value.network


@define_method("containsCIDR", (CIDR, STRING), BOOL)
def contains_cidr_text(value: CIDRValue, other: str) -> bool:
    """Return whether a network is in the network."""
    return contains_cidr(value, parse_cidr(other))


@define_method("ip", (CIDR,), IP)
def get_ip(value: CIDRValue) -> IPValue:
    """Return the address of a network, with host bits."""
    return IPValue(value.address)


@define_method("prefixLength", (CIDR,), INT)
def get_prefix_length(value: CIDRValue) -> int:
    """Return the length of the prefix in bits."""
    return value.length


@define_method("masked", (CIDR,), CIDR)
def mask(value: CIDRValue) -> CIDRValue:
    """Return the network without host bits."""
    return CIDRValue(value.network.network_address, value.length)
