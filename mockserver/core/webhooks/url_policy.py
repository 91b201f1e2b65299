"""Allowed urls of webhooks: this machine, and the hosts that the operator of the mock has allowed."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit


def rejection_reason(url: str, allowed_hosts: Collection[str]) -> str | None:
    """Return the expectation that the url does not meet, or None; the sender checks the address of a name."""
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
    if is_local_host(host) or host in allowed_hosts:
        return None
    return (
        "this machine (localhost, 127.0.0.1, [::1]), or a host allowed by allow_webhook_hosts or --allow-webhook-host"
    )


def is_local_host(host: str) -> bool:
    """Return True for localhost and for a literal address of the loopback interface."""
    return host == "localhost" or host.endswith(".localhost") or is_loopback(host)


def is_loopback(address: str) -> bool:
    """Return True for an address of the loopback interface."""
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def is_address(host: str) -> bool:
    """Return True for an IP address, False for a name."""
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
