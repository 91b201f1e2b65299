"""What a reader of a report may do next: as Python if the test has a `Sandbox`, else as calls of the control plane."""

from __future__ import annotations

from urllib.parse import urlsplit

from mockserver.report.run.snapshot import SandboxSnapshot


def advance(snapshot: SandboxSnapshot, seconds: str) -> str:
    """Return the command that advances the clock."""
    if snapshot.is_python:
        return f"{snapshot.name}.advance({seconds})"
    return f'POST {snapshot.address}/_mock/clock/advance {{"by": {seconds}}}'


def sleep(snapshot: SandboxSnapshot) -> str:
    """Return the fix of a client that waits in real time."""
    if not snapshot.is_python:
        return "let the client's waits advance this clock, or let the clock follow the computer's"
    return f"give the client `sleep={snapshot.name}.{'aio.sleep' if snapshot.is_async else 'sleep'}`"


def end_session(snapshot: SandboxSnapshot, session_id: str) -> str:
    """Return the sentence about the command that plays the end user of a session."""
    if not snapshot.is_python:
        return f"POST {snapshot.address}/_mock/sessions/{session_id}/complete plays its user"
    return f"{snapshot.name}.complete_session(id) or {snapshot.name}.end_user(id) plays its user"


def same_instant(snapshot: SandboxSnapshot, process: str) -> str:
    """Return the fix of a sandbox that was created at another instant than that of the process."""
    if not snapshot.is_python:
        return catch_up(snapshot)
    return f"@pytest.mark.mockserver(now={process!r}) gives both one instant, or a fixture that freezes before this one"


def catch_up(snapshot: SandboxSnapshot) -> str:
    """Return the fix of a clock that differs from the process's at present."""
    command = f"{snapshot.name}.follow(catch_up=True)"
    if not snapshot.is_python:
        command = f'PUT {snapshot.address}/_mock/clock {{"follow": true, "catchUp": true}}'
    return f"{command} advances to the process's instant"


def proxy(snapshot: SandboxSnapshot) -> str:
    """Return the sentence about a proxy to which the calls may have gone; empty if no variable names one."""
    if snapshot.proxy is None or snapshot.address is None:
        return ""
    exempt = f"NO_PROXY={urlsplit(snapshot.address).hostname}"
    return (
        f"{snapshot.proxy} is set: a client that obeys it sends its calls to that proxy; set {exempt} for this address"
    )


def address(snapshot: SandboxSnapshot) -> str:
    """Return the usual cause of a test without calls."""
    if snapshot.address is not None:
        return f"its address is {snapshot.address}: does the client send its calls there?"
    return f"the test has not read its address: give the client `{snapshot.name}.base_url`, or an HTTP client of `{snapshot.name}`, such as `requests_session()`"


def in_process_client(snapshot: SandboxSnapshot) -> str:
    """Return which clients open the url of a session that was created in process."""
    name = snapshot.name
    return (
        f"use {name}.requests_session(), {name}.httpx_client() or {name}.end_user(url); "
        f"a session that is created over {name}.base_url has an url for any client"
    )
