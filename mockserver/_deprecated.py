"""Public names that still work under another one: what replaces each, and the release since which its use warns."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple
from warnings import warn


class Deprecation(NamedTuple):
    """`use` replaces the name; `since` is the first release that warns, as MAJOR.MINOR."""

    use: str
    since: str


_PARTS: Final = {
    "clock": ("follow", "next_due", "sleeps"),
    "webhooks": ("redeliver", "recover"),
    "log": ("exchanges", "call_count", "journal", "history", "steps", "replay_document", "watch_choices"),
    "admin": ("address", "keys", "app", "set_tenant", "remove_rules", "fail_campaign"),
    "calls": ("expecting",),
}
_AIO: Final = (
    "advance", "sleep", "call", "wait_for", "complete_session", "fail_session", "cancel_session", "expire_session",
    "redeliver", "recover",
)  # fmt: skip


def _variable(setting: str) -> str:
    return f"MOCKSERVER_{setting.upper().replace('-', '_')}"


# Of settings: an option of each of these commands, and an environment variable.
_SETTINGS: Final = {
    "least-pace": ("min-body-rate", ("serve", "play", "fleet")),
    "failures": ("failures-dir", ("serve", "play", "fleet")),
    "no-reason": ("no-reason-header", ("serve", "play", "fleet")),
}
FORMER_COMMANDS: Final[Mapping[str, str]] = MappingProxyType({"replay": "replay-calls"})

# By name, as `docs/reference/public-interface.txt` has it; docs/stability.md states when a row may go.
DEPRECATED: Final[Mapping[str, Deprecation]] = MappingProxyType(
    {
        **{
            f"Sandbox.{name}": Deprecation(f"Sandbox.{part}.{name}", "0.1")
            for part, names in _PARTS.items()
            for name in names
        },
        "Sandbox.rotate_secret": Deprecation("Sandbox.webhooks.rotate", "0.1"),
        "Sandbox.httpx_async_client": Deprecation("Sandbox.aio.httpx_client", "0.1"),
        "Sandbox.run_async": Deprecation("Sandbox.aio.run", "0.1"),
        **{f"Sandbox.{name}_async": Deprecation(f"Sandbox.aio.{name}", "0.1") for name in _AIO},
        **{
            f"command {command} --{name}": Deprecation(f"--{use}", "0.1")
            for name, (use, commands) in _SETTINGS.items()
            for command in commands
        },
        **{
            f"environment {_variable(name)}": Deprecation(_variable(use), "0.1") for name, (use, _) in _SETTINGS.items()
        },
        **{f"command {name}": Deprecation(f"mockserver {use}", "0.1") for name, use in FORMER_COMMANDS.items()},
        "command explore --follow": Deprecation("--clock-speed", "0.1"),
        "command interleave --split": Deprecation("--split-calls", "0.1"),
        "command interleave --merge": Deprecation("--skip-equivalent", "0.1"),
        "command explore --held": Deprecation("--response-delay", "0.1"),
        "command explore --failures": Deprecation("--failures-dir", "0.1"),
        "command interleave --failures": Deprecation("--failures-dir", "0.1"),
        "ExploreOptions.held": Deprecation("ExploreOptions.response_delay", "0.1"),
        "pytest mark mockserver_explore(held)": Deprecation("mockserver_explore(response_delay)", "0.1"),
        "pytest option --mockserver-failures": Deprecation("--mockserver-failures-dir", "0.1"),
        "pytest setting mockserver_failures": Deprecation("mockserver_failures_dir", "0.1"),
        "pytest option --mockserver-labels": Deprecation("--mockserver-sandbox-labels", "0.1"),
        "pytest setting mockserver_labels": Deprecation("mockserver_sandbox_labels", "0.1"),
        "pytest fixture mockserver_option": Deprecation("mockserver_sweep_choices", "0.1"),
        **{
            f"pytest mark mockserver_sweep({name!r})": Deprecation("mockserver_sweep('all')", "0.1")
            for name in ("choices-read", "touched")
        },
    }
)


def warn_deprecated(name: str, stacklevel: int = 2) -> None:
    """Warn that a name of `DEPRECATED` is used; a `stacklevel` of 2 is the caller of the function that calls this one."""
    warn(message(name), DeprecationWarning, stacklevel=stacklevel + 1)


def message(name: str) -> str:
    """Return the text of the warning for a name of `DEPRECATED`."""
    row = DEPRECATED[name]
    return f"{name} is deprecated since {row.since}; use {row.use}"
