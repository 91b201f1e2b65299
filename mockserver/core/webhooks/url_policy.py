"""
Allowed urls of webhooks: those of the hosts that the operator of the mock has allowed, by default this machine alone.

A server that other machines reach does not allow its own machine: each tenant could read what listens there. So it does not
allow a name that resolves to it, or to a private address, either.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from mockserver.contract.text import did_you_mean

THIS_MACHINE: Final = frozenset({"localhost"})  # allows every name and address of the loopback interface
_NAME_IN_URL: Final = r"(?:[a-z]+://)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?:[:/]|$)"
_NAME: Final = r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?"
# Addresses of IPv6 whose last 32 bits are one of IPv4: by a translator (RFC 6052), and of the former form (RFC 4291, 2.5.5.1).
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")


def rejection_reason(url: str, allowed_hosts: Collection[str]) -> str | None:
    """Return the expectation that the url does not meet, or None; see `address_rejection` for the address of a name."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return "a url"
    if not all("!" <= char <= "~" for char in url):  # urlsplit drops line breaks; a request line cannot hold them
        return "a url of visible ASCII characters, all others percent-encoded"
    if parts.scheme not in ("http", "https") or not host:
        return "an http or https url with a host"
    if "@" in parts.netloc:
        return "a url without a user or password"
    if port == 0:
        return "a url with a port from 1 to 65535"
    allows_this_machine = _allows_this_machine(allowed_hosts)
    if host in allowed_hosts or (allows_this_machine and is_local_host(host)):
        return None
    allowed = "a host allowed by --allow-webhook-host (in Python `allow_webhook_hosts`)"
    if allows_this_machine:
        return f"this machine (localhost, 127.0.0.1, [::1]), or {allowed}"
    return f"{allowed}; other machines reach this server, so its own is one only with --allow-webhook-host localhost"


def address_rejection(host: str, address: str, allowed_hosts: Collection[str]) -> str | None:
    """
    Return why a webhook to this host is not sent to this address of it, or None.

    A name that is allowed allows its public addresses. What its resolver makes of it later is no decision of the operator:
    an address of this machine or of a private network is allowed by itself, or by allowing this machine.
    """
    allows_this_machine = _allows_this_machine(allowed_hosts)
    if _is_among(address, allowed_hosts) or (allows_this_machine and is_loopback(address)):
        return None
    if host not in allowed_hosts or is_local_host(host):
        return "which is not this machine"
    if allows_this_machine or _is_public(_parsed(address)):
        return None
    return (
        f"which is on this machine or on a private network; expected a public address, or --allow-webhook-host {address}, "
        "or --allow-webhook-host localhost"
    )


def _allows_this_machine(allowed_hosts: Collection[str]) -> bool:
    return any(map(is_local_host, allowed_hosts))


def _is_among(address: str, hosts: Collection[str]) -> bool:
    """Return True if one of the hosts is this address, in any notation."""
    return any(_parsed(host) == _parsed(address) for host in hosts if is_address(host))


def port_of(url: SplitResult) -> int:
    """Return the port of an http or https url, that of its scheme if it has none."""
    return url.port or (443 if url.scheme == "https" else 80)


def host_name(text: str) -> str:
    """Return the name or address of a host as urls are compared with it; ValueError for a url, a port and a pattern."""
    name = text.lower().removeprefix("[").removesuffix("]")
    if not is_address(name) and not re.fullmatch(_NAME, name):
        inner = re.match(_NAME_IN_URL, name)
        hint = did_you_mean(inner and inner[1])
        raise ValueError(f"expected a host's name or address alone, without scheme, port and path{hint}")
    return name


def is_local_host(host: str) -> bool:
    """Return True for localhost and for a literal address of the loopback interface."""
    return host == "localhost" or host.endswith(".localhost") or is_loopback(host)


def is_loopback(address: str) -> bool:
    """Return True for an address of the loopback interface."""
    return is_address(address) and _parsed(address).is_loopback


def is_address(host: str) -> bool:
    """Return True for an IP address, False for a name."""
    try:
        _parsed(host)
    except ValueError:
        return False
    return True


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return True for the address of one machine on the internet, not of a group and not of a former local range."""
    is_local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not address.is_multicast and not is_local


def _parsed(address: str) -> IPv4Address | IPv6Address:
    """Return an address without its zone; of an IPv6 address that stands for an IPv4 address the latter."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv4Address):
        return parsed
    if parsed in _TRANSLATED or (parsed in _COMPATIBLE and int(parsed) > 1):  # `::` and `::1` are addresses of IPv6
        return IPv4Address(int(parsed) & 0xFFFF_FFFF)
    return parsed.ipv4_mapped or parsed.sixtofour or parsed
