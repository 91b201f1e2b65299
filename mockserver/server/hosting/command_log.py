"""Commands and responses in the form in which the history and replay documents store them: without keys, in strict JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from mockserver.core.redaction import Redactor
from mockserver.core.state.sandbox import Position, SandboxState

BASE_URL = "{base_url}"  # what documents have for the address of the sandbox, since the next one has another
_BODY_MAX_BYTES = 20_000  # a larger response is compared by its digest
# Members of a document that assign keys and secrets; without them they follow from the seed.
_SECRETS = frozenset(("secretKey", "publicKey", "secret"))


def record_command(sandbox: SandboxState, command: str, arguments: Mapping[str, Any], before: Position) -> None:
    """
    Add a command to the history, at the position before it. The caller holds the lock.

    What its name alone shows to be secret is masked by the views: a condition of a rule has to match the masked calls.
    """
    hide = Redactor(sandbox.secrets(), by_name=False)
    sandbox.journal.add_command(command, without_secrets(hide.value(arguments)), *before)


def without_secrets(value: Any) -> Any:
    """Return the document without the keys and secrets that it assigns."""
    if isinstance(value, Mapping):
        return {key: without_secrets(item) for key, item in value.items() if key not in _SECRETS}
    return [without_secrets(item) for item in value] if isinstance(value, list | tuple) else value


def without_addresses(body: bytes, addresses: Iterable[str]) -> bytes:
    """Return the bytes with `BASE_URL` in place of each address of the sandbox."""
    for address in sorted(filter(None, addresses), key=len, reverse=True):
        body = body.replace(address.encode(), BASE_URL.encode())
    return body


def recorded_response(status: int, body: bytes, addresses: Iterable[str], hide: Redactor) -> dict[str, Any]:
    """Return a response as a document stores it, for a comparison with the response of a repeated call."""
    neutral = without_addresses(body, addresses)
    if len(neutral) > _BODY_MAX_BYTES:
        return {"status": status, "bytes": len(neutral), "sha256": hashlib.sha256(neutral).hexdigest()}
    try:
        visible: Any = hide.value(strict_json(json.loads(neutral))) if neutral else None
    except (ValueError, RecursionError):
        visible = hide.text(neutral.decode("utf-8", "backslashreplace"))
    return {"status": status} if visible is None else {"status": status, "body": visible}


def strict_json(value: Any) -> Any:
    """Return the value; ValueError if strict JSON in UTF-8 has no form for it: NaN, half of a surrogate pair."""
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value
