"""`mockserver health`: whether the server of the same settings answers, for the health check of a container."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from types import MappingProxyType
from typing import Any, Final, TextIO

from mockserver._settings import SERVER
from mockserver.cli.settings import add_options, resolve, token_of
from mockserver.contract.text import json_value

_TIMEOUT_SECONDS: Final = 5.0
_LOOPBACK_OF: Final = MappingProxyType({"0.0.0.0": "127.0.0.1", "::": "::1"})  # of a server on every address
_ANSWER_BYTES: Final = 64 * 1024  # read at most, of whatever listens there
_SETTINGS: Final = tuple(setting for setting in SERVER if setting.name in ("host", "port", "token", "token-file"))


def add_health_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver health`, which are those of `serve` by which the server is reached."""
    add_options(command, *_SETTINGS)


def check(options: argparse.Namespace, out: TextIO, environ: Mapping[str, str] = os.environ) -> int:
    """
    Call the server, and print whether it answers.

    Returns:
        0 if it does, 1 if it does not.

    Raises:
        ValueError: The settings name no port.
    """
    resolve(options, *_SETTINGS, environ=environ)
    if options.port == 0:
        raise ValueError("got port 0, which is another one in each run; expected the port on which the server listens")
    token, address = token_of(options), f"{options.host} port {options.port}"
    try:
        status, body = _get(_LOOPBACK_OF.get(options.host, options.host), options.port, token)
    except (OSError, HTTPException) as failure:
        print(f"mockserver: no server answers at {address}: {failure}", file=sys.stderr)
        return 1
    # A server without a token in its settings may have generated one, which no other process can read.
    has_generated = token is None and body.get("code") == "MOCK_TOKEN_WANTED"
    if status == 200 or has_generated:
        print(f"ok {body['version']}" if status == 200 else "ok", file=out)
        return 0
    print(f"mockserver: {address}: got status {status}; expected a healthy mockserver", file=sys.stderr)
    return 1


def _get(host: str, port: int, token: str | None) -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
    try:
        headers = {"Host": "localhost"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
        connection.request("GET", "/_mock/health", headers=headers)
        reply = connection.getresponse()
        body = json_value(reply.read(_ANSWER_BYTES))
        is_own = isinstance(body, dict) and ("version" in body or str(body.get("code", "")).startswith("MOCK_"))
        return (reply.status, body) if is_own else (502, {})
    finally:
        connection.close()
