"""`mockserver serve` and `play`: their options, what they print, and how they end."""

from __future__ import annotations

import argparse
import errno
import gc
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TextIO

from mockserver._settings import SERVER
from mockserver.cli.lifetime import ready_file, remove_stale, stop_signals, watch_parent
from mockserver.cli.settings import OFF, add_options, is_exposed, resolve, token_of
from mockserver.contract.text import json_value
from mockserver.version import VERSION

if TYPE_CHECKING:
    from mockserver.server.hosting.host import SandboxHost
    from mockserver.server.hosting.limits import Limiter, ServerLimits
    from mockserver.server.hosting.log_lines import ServerLog
    from mockserver.server.http1.connection import ConnectionLimits
    from mockserver.server.http1.server import Server
    from mockserver.server.log import LogWriter

_LOG = logging.getLogger("mockserver")

_SWITCH_SECONDS = 0.0002
_FINISH_SECONDS = 0.5
_LEFT_MAX: Final = 20  # sandboxes that a program left behind, of which files are kept
_LEFT_BEHIND: Final = "the program of the tests ended before this sandbox did"


def add_serve_options(serve: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver serve`."""
    add_options(serve, *SERVER)


def add_play_options(play: argparse.ArgumentParser) -> None:
    """Add the options of `mockserver play`."""
    play.add_argument("scenario", metavar="NAME|FILE", help="a scenario of the library, or a YAML or JSON file")
    add_options(play, *(setting for setting in SERVER if setting.name != "scenario"))


def play(options: argparse.Namespace, out: TextIO) -> int:
    """Serve a scenario until a signal stops it, and print what happens in it."""
    from mockserver.cli.play_log import PlayLog
    from mockserver.server.log import LogWriter

    document = load_scenario(options.scenario)
    with LogWriter(out, _dropped_text) as writer:
        log = PlayLog(lambda line: writer.write(line + "\n"))
        return serve(options, out, lambda created: log.print_scenario(document, created), log.print_new)


def serve(
    options: argparse.Namespace,
    out: TextIO,
    on_start: Callable[[Mapping[str, list[str]]], None] = lambda created: None,
    on_exchange: Callable[[Any], None] | None = None,
) -> int:
    """
    Serve until SIGINT, SIGTERM or SIGHUP, and return 0.

    Args:
        options: The parsed command line.
        out: Gets the start lines once the server listens: the first one ends in the base url, or as JSON is the only one.
        on_start: Gets the ids of the seed data, by kind.
        on_exchange: Gets the default sandbox after each of its calls and commands.
    """
    from mockserver.server.log import unblocked_stderr

    resolve(options, *SERVER)
    remove_stale(options.ready_file)
    dropped = _dropped_json if options.log_format == "json" else _dropped_text
    with (
        _stopped_by_signals(stop_signals()),
        unblocked_stderr(dropped) as writer,
        _logger(options.log_format, writer) as log,
    ):
        return _serve(options, out, on_start, on_exchange, log)


@contextmanager
def _stopped_by_signals(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """
    End the process at a signal, also before the server listens; afterwards the former handlers are in force again.

    Without a handler the first process of a container ignores a signal.
    """

    def end_start(*_: object) -> None:
        raise SystemExit(0)

    before = [(number, signal.signal(number, end_start)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _serve(
    options: argparse.Namespace,
    out: TextIO,
    on_start: Callable[[Mapping[str, list[str]]], None],
    on_exchange: Callable[[Any], None] | None,
    log: ServerLog | None,
) -> int:
    from mockserver.server.hosting.background import BackgroundWorker
    from mockserver.server.hosting.host import DEFAULT_ID
    from mockserver.server.hosting.limits import Limiter
    from mockserver.server.hosting.log_lines import refusal_line
    from mockserver.server.http1.server import Server
    from mockserver.server.socket_handler import SocketHandler, error_body

    host = _create_host(options)
    hosted = host.create(_sandbox_config(options), id=DEFAULT_ID)
    host.log = log
    with _explained(options.host, options.port):
        handler = SocketHandler(host)
        server = Server(
            handler,
            options.host,
            options.port,
            explain=not options.no_reason_header,
            error_body=error_body,
            on_refusal=lambda status, why: log.write(refusal_line, status, why) if log else None,
            limits=_connection_limits(options),
        )
    url = _reachable(server.url)
    host.origin = options.public_url or url
    # A proxy that sends a request on each connection loses none if the open ones may finish.
    end = server.stop if host.shard is None else partial(server.finish, _FINISH_SECONDS)
    limiter = Limiter(host, _limits(options), end)
    host.admission, host.on_tick = limiter.admission, limiter.sweep
    _end_at_signals(server, end, limiter, options.drain or None)
    background = BackgroundWorker(host)
    try:
        ready = _ready(url, hosted, host.token)
        with (
            _coverage_file(host, options.coverage),
            ready_file(options.ready_file, ready),
        ):  # before any line: a file may be refused
            if options.log_format == "json":
                _print_whole(json.dumps(ready | ({"token": None} if options.token_file else {})), out)
            else:
                _print_whole(_start_lines(server.url, hosted, host.token, options), out)
            on_start(hosted.created.ids)
            if on_exchange is not None:
                hosted.listeners.append(partial(on_exchange, hosted))
            background.start()
            if options.exit_with_parent:
                watch_parent(partial(_end_with_parent, host, server, options.log_format))
            _tune_process()
            server.serve_forever()
    finally:
        server.stop()  # for a file that cannot be written: the socket is open
        background.stop()
        host.close_all()
    return 0


def _end_at_signals(server: Server, end: Callable[[], None], limiter: Limiter, within: int | None) -> None:
    """Stop at each signal that does so, with `--drain` at SIGTERM after the sandboxes of clients."""

    def terminate(*_: object) -> None:
        if within is None or limiter.drains:
            end()
        else:
            limiter.drain(within)

    for number in stop_signals():
        signal.signal(number, terminate if number == signal.SIGTERM else lambda *_: server.stop())


def _end_with_parent(host: SandboxHost, server: Server, log_format: str) -> None:
    """Keep the files of the tests that the program that has ended left behind, print their reports, and stop."""
    from mockserver.server.control.routes import run_command
    from mockserver.server.hosting.host import DEFAULT_ID
    from mockserver.testing.report.failed_runs import FailedRuns

    failures = host.failures
    if isinstance(failures, FailedRuns):
        left = [hosted for id, hosted in host.sandboxes.items() if id != DEFAULT_ID and not failures.has_failed(id)]
        for hosted in left[-_LEFT_MAX:]:
            report = run_command(hosted, "keepReport", {"failure": _LEFT_BEHIND})
            if log_format != "json":
                with suppress(OSError):  # a runner may have closed it: the files remain
                    print(report["text"], file=sys.stderr, flush=True)
    server.stop()


def _tune_process() -> None:
    """Set the garbage collector and the threads of this process for many short calls next to few long ones."""
    gc.freeze()  # modules and seed data stay: without them a full collection holds a call for 1 ms instead of 20
    # A thread that waits for the interpreter gets it after this time, not after 5 ms: a short call takes it several times.
    sys.setswitchinterval(_SWITCH_SECONDS)


def _create_host(options: argparse.Namespace) -> SandboxHost:
    """Return the host without sandboxes; beyond loopback it requires a token."""
    from mockserver.core.instants import parse
    from mockserver.core.state.journal import Limits
    from mockserver.core.webhooks.url_policy import THIS_MACHINE
    from mockserver.server.hosting.config import SEED_MAX
    from mockserver.server.hosting.host import SandboxHost
    from mockserver.wire.response import ResponseOptions

    host = SandboxHost(
        response_options=ResponseOptions(explain=not options.no_reason_header, strict=options.strict),
        allow_webhook_hosts=[*options.allow_webhook_host, *([] if is_exposed(options) else THIS_MACHINE)],
        journal_limits=Limits(
            _at_least_one(options, "journal_max_entries"), _at_least_one(options, "journal_max_bytes")
        ),
    )
    host.token = token_of(options)
    host.allowed_hosts |= {options.host.lower(), *map(str.lower, options.allow_host)} - {"0.0.0.0", "::"}
    host.publish(options.public_url)
    host.is_exposed = is_exposed(options)
    if host.is_exposed:  # neither token nor keys are predictable
        import secrets

        host.token = host.token or secrets.token_urlsafe(24)
        host.default_seed = lambda: secrets.randbelow(SEED_MAX) + 1
    if options.seed is not None:
        host.default_seed = lambda: options.seed
    if options.freeze:
        instant = parse(options.freeze)
        if instant is None:
            got = f"got --freeze {options.freeze!r}"
            raise ValueError(f"{got}; expected an RFC 3339 instant, such as 2026-03-01T12:00:00Z")
        host.frozen_at = instant[0]
    host.is_shared = options.cors
    if options.shard is not None:
        host.shard = options.shard._replace(run=os.urandom(8).hex())
    if options.failures_dir is not None:
        from mockserver.testing.report.failed_runs import FailedRuns

        host.failures = FailedRuns(Path(options.failures_dir))
    if options.coverage is not None:
        from mockserver.judge.coverage.coverage import Coverage

        host.coverage = Coverage()
    return host


@contextmanager
def _coverage_file(host: SandboxHost, name: str | None) -> Iterator[None]:
    """Write what the sandboxes have covered to a file, without any at the start, so that a wrong name ends the server then."""
    if host.coverage is None or name is None:
        yield
        return
    # Each of several servers has a file of its own.
    file = Path(name) if host.shard is None else Path(name).with_suffix(f".{host.shard.number}{Path(name).suffix}")
    try:
        host.coverage.save(file)
    except OSError as failure:
        expected = "a file that this user may write"
        raise OSError(f"got --coverage {name} ({failure.strerror}); expected {expected}") from None
    yield
    host.close_all()
    host.coverage.save(file)


def _limits(options: argparse.Namespace) -> ServerLimits:
    """Return the limits of the settings; those that are absent are off on loopback."""
    from mockserver.server.hosting.limits import BEYOND_LOOPBACK, ServerLimits

    defaults = BEYOND_LOOPBACK if is_exposed(options) else ServerLimits()
    return ServerLimits(
        sandboxes=_limit(options.max_sandboxes, defaults.sandboxes),
        idle=_limit(options.idle, defaults.idle),
        age=_limit(options.age, defaults.age),
        memory=_limit(options.memory, defaults.memory),
    )


def _limit(value: int | None, default: int | None) -> int | None:
    """Return a limit, None for one that is off."""
    if value is None:
        return default
    return None if value == OFF else value


def _connection_limits(options: argparse.Namespace) -> ConnectionLimits:
    """Return the limits of connections in the settings."""
    from mockserver.core.instants import SECOND
    from mockserver.server.http1.connection import ConnectionLimits

    return ConnectionLimits(
        head_seconds=None if options.head_timeout == OFF else options.head_timeout / SECOND,
        pace_bytes=_limit(options.min_body_rate, None),
        connections=_limit(options.max_connections, None),
        bodies_bytes=_limit(options.max_bodies, None),
    )


@contextmanager
def _explained(host: str, port: int) -> Iterator[None]:
    """Add the address and the cure to an error of the operating system."""
    try:
        yield
    except OSError as failure:
        if failure.errno == errno.EADDRINUSE:
            raise
        expected = "an address of this machine, such as 127.0.0.1 or 0.0.0.0, and a port that is open to this user"
        raise OSError(f"got {host} port {port}, which is refused ({failure.strerror}); expected {expected}") from None


def _at_least_one(options: argparse.Namespace, name: str) -> int:
    value: int = getattr(options, name)
    if value < 1:
        raise ValueError(f"got --{name.replace('_', '-')} {value}; expected at least 1")
    return value


def _sandbox_config(options: argparse.Namespace) -> Any:
    from mockserver.scenario import choices
    from mockserver.server.hosting.config import SandboxConfig

    scenario = document_of(options.scenario)
    chosen: dict[str, object] = choices.load_profile(options.profile) if options.profile else {}
    for setting in options.choose:
        choice, equals, option = setting.partition("=")
        if not equals:
            raise ValueError(f"got --choose {setting!r}; expected ID=OPTION, such as dual-status=guide")
        value = json_value(option)  # of a choice with numbers; else the name of an option
        chosen[choice] = value if isinstance(value, dict | int) and not isinstance(value, bool) else option
        if problem := choices.choice_problem(choice, chosen[choice]):
            raise ValueError(f"--choose {setting} is refused; {problem}")
    frozen = {"freeze": options.freeze} if options.freeze else None
    return SandboxConfig(scenario=scenario, seed=options.seed, choices=chosen or None, clock=frozen)


def load_scenario(name: str) -> Any:
    """Return the document of a library scenario or of a file."""
    from mockserver.scenario import library

    document = document_of(name)
    return library.document(document) if isinstance(document, str) else document


def document_of(name: str) -> Any:
    """Return the document of a file, or the name of a library scenario unchanged."""
    from mockserver.scenario.documents import read

    file = Path(name)
    return read(file) if file.suffix in (".yaml", ".yml", ".json") else name


# By what a server that listens on every address prints of itself: the address for clients of this machine.
_REACHABLE: Final = MappingProxyType({"//0.0.0.0:": "//127.0.0.1:", "//[::]:": "//[::1]:"})


def _reachable(url: str) -> str:
    """Return the address for clients of this machine: no client connects to `0.0.0.0` on every system."""
    return next((url.replace(every, one) for every, one in _REACHABLE.items() if every in url), url)


def _start_lines(listens_on: str, hosted: Any, token: str | None, options: argparse.Namespace) -> str:
    """Return the start lines: the address, the keys, and two calls to try; a token from a file is not shown."""
    token_file = options.token_file
    url, tenant = hosted.base_url, hosted.tenant
    shown = token if token_file is None else f"as in {token_file}"
    bearer = f" -H 'Authorization: Bearer {token}'" if token else ""
    if token_file is not None:
        bearer = f' -H "Authorization: Bearer $(cat {token_file})"'
    lines = [
        f"mockserver {VERSION} listens on {listens_on}",
        "",
        *([f"  public url   {url}"] if options.public_url else []),
        f"  secret key   {tenant.secret_key}",
        f"  public key   {tenant.public_key}",
        *([f"  token        {shown}   (for the control plane, /_mock)"] if token else []),
        f"  health       {url}/_mock/health",
        f"  state        {url}/_mock/state",
        f"  journal      {url}/_mock/journal",
        f"  dashboard    {url}/_mock/",
        f"  openapi      {url}/_mock/openapi.json   (?plane=control: of the calls under /_mock)",
        "",
        "Try a call, then advance the clock by twenty minutes:",
        f"  curl -H 'X-API-Key: {tenant.secret_key}' {url}/v1/message-templates",
        f'  curl -X POST{bearer} -d \'{{"by": "20m"}}\' {url}/_mock/clock/advance',
        "",
        "Stop it with Ctrl-C.",
    ]
    return "\n".join(lines)


def _print_whole(lines: str, out: TextIO) -> None:
    """Print start lines in a single write: their reader may close the pipe after the first one, and a second write would fail."""
    out.write(f"{lines}\n")
    out.flush()


def _ready(url: str, hosted: Any, token: str | None) -> dict[str, Any]:
    """Return what a program that has started the server needs."""
    from mockserver.server.control import views

    tenant = hosted.tenant
    keys = {"secretKey": tenant.secret_key, "publicKey": tenant.public_key}
    server = {"token": token, "version": VERSION, "pid": os.getpid()}
    # Of the log's lines: `at` is by the computer's clock, `clock` by the sandbox's.
    times = {"clock": views.clock(hosted.sandbox), "times": {"at": "real", "clock": "virtual"}}
    return {"url": url, **keys, **server, **times}


def _dropped_text(count: int) -> str:
    texts = "1 text of the log" if count == 1 else f"{count} texts of the log"
    return f"mockserver dropped {texts}, which was not read in time\n"


def _dropped_json(count: int) -> str:
    return json.dumps({"dropped": count}) + "\n"


class _Failures(logging.Handler):
    """Writes the failures that Python's `logging` gets as lines of a log in JSON."""

    def __init__(self, log: ServerLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        from mockserver.server.hosting.log_lines import failure_line

        self._log.write(failure_line, record)


@contextmanager
def _logger(form: str, writer: LogWriter) -> Iterator[ServerLog | None]:
    """Yield what writes lines in this form; in JSON the failures of the server are lines too."""
    from mockserver.server.hosting.log_lines import ServerLog, as_json, as_text

    if form == "off":
        yield None
    elif form == "text":
        yield ServerLog(lambda line: writer.write(*as_text(line)))
    else:
        log = ServerLog(lambda line: writer.write(as_json(line)))
        failures = _Failures(log)
        _LOG.addHandler(failures)
        try:
            yield log
        finally:
            _LOG.removeHandler(failures)
