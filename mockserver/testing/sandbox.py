"""
The Python interface of one sandbox.

`Sandbox` has what a test uses most; the rest is in its parts (`sandbox_parts`), and what awaits in `Aio`. A
`Backend` reaches the sandbox, in this process or on a running server.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property, wraps
from json import dumps
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeVar, Unpack

from mockserver._json import JSON
from mockserver.contract.durations import Length, length
from mockserver.contract.endpoints import OperationName
from mockserver.contract.text import printable
from mockserver.judge.check import SEVERITIES
from mockserver.report.run.failure import in_words
from mockserver.server.webhooks import event_loops
from mockserver.testing.arguments import (
    LengthByUnit,
    document_or_parts,
    instant_text,
    is_for_caller,
    length_of_advance,
    length_of_sleep,
)
from mockserver.testing.backend import Backend, LocalBackend
from mockserver.testing.call_log import CallLog
from mockserver.testing.conduct import ConductReport, Ledger, format_findings
from mockserver.testing.end_user import EndUser
from mockserver.testing.receivers import Receiver
from mockserver.testing.report.failures import describe
from mockserver.testing.report.snapshots import UndoneRun, snapshot, undone_run
from mockserver.testing.rules.builder import ActiveRule, OwnRules, RuleBuilder
from mockserver.testing.run_end import ReadsLimit
from mockserver.testing.sandbox_parts import Admin, Log, SandboxClock, Webhooks
from mockserver.testing.settings import Settings
from mockserver.testing.transports.in_process import Response

if TYPE_CHECKING:
    import httpx
    import requests

    from mockserver.server.hosting.host import HostedSandbox

__tracebackhide__ = is_for_caller
P = ParamSpec("P")
R = TypeVar("R")


class Sandbox:
    """
    One isolated instance of the mock: a clock, tenants with their data, choices, rules and a journal of calls.

    The fixture `mockserver`, `MockServer.sandbox` and `RemoteServer.sandbox` create it; it has no public constructor.
    On a sandbox of a running server (`--mockserver-url`), what needs this process raises ValueError, and the plugin skips
    the test: `admin.app` and `admin.keys`.

    Lifetime: until it is closed; its address then returns 410.

    Attributes:
        settings: The settings from which it was created, with the source of each.
        clock: The clock, other than `advance`, `freeze`, `sleep` and `now` (see `SandboxClock`).
        webhooks: Acts on webhook endpoints and their deliveries (see `Webhooks`).
        log: What has happened so far, as data (see `Log`).
        admin: What the operator of the service does: tenants, keys, rules, failures (see `Admin`).
        is_repeated: Its run is one of many, in which a rule of the test need not fire.

    Example:
        >>> response = sandbox.call("GET", "/v1/campaigns")
        >>> sandbox.calls("listCampaigns").one().status
        200
    """

    # The last block of `checkpoint` that an exception ended.
    _undone: UndoneRun | None = None

    def __init__(self, backend: Backend, settings: Settings) -> None:
        self._backend = backend
        self._own_rules = OwnRules({}, set())
        self.settings = settings
        self.clock = SandboxClock(backend)
        self.webhooks = Webhooks(backend)
        self.log = Log(backend)
        self.admin = Admin(backend)
        self.is_repeated = False
        self._reads_limit: ReadsLimit | None = None

    @property
    def aio(self) -> Aio:
        """The forms that await, under the names that the others have: `await sandbox.aio.advance(minutes=1)` (see `Aio`)."""
        # Not an attribute, which would be a reference cycle: each test's sandbox would wait for the garbage collector.
        return Aio(self)

    # Identity

    @property
    def id(self) -> str:
        """The sandbox's id, such as `sandbox_1`."""
        return self._backend.sandbox_id

    @property
    def base_url(self) -> str:
        """The address of the API without a final slash; reading it opens the server's socket, if it is not open."""
        return self._backend.base_url()

    @property
    def tenant_id(self) -> str:
        """The default tenant's id."""
        return self._backend.tenant_id

    @property
    def secret_key(self) -> str:
        """The default tenant's secret key, whole, for the header X-API-Key."""
        return self._backend.secret_key

    @property
    def public_key(self) -> str:
        """The default tenant's public key, whole, for the header X-API-Key."""
        return self._backend.public_key

    # Clients

    def call(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        json: Any = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Response:
        """
        Send one request, without a socket if the sandbox is in this process.

        Args:
            method: The HTTP method.
            path: The path with its query, such as `/v1/campaigns?limit=10`.
            key: The value of X-API-Key; by default the default tenant's secret key, "" for none.
            json: A value that is sent as JSON; `body` is then ignored.
            body: The bytes of the body.
            headers: Further headers.
            timeout: The client's read timeout in seconds. A wait that a rule causes takes no real time; in this process a
                longer one raises TimeoutError immediately.

        Returns:
            The response with `status`, `headers` (lower-case names), `body` (bytes) and `json()`.

        Raises:
            TimeoutError: The response takes longer than `timeout`, or a rule withholds it.
            http.client.RemoteDisconnected: A rule closes the connection without a response.
            ConnectionResetError: A rule resets the connection.
            http.client.IncompleteRead: A rule breaks the body off.
        """
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        if key != "":
            sent.setdefault("x-api-key", key or self._backend.secret_key)
        if json is not None:
            body = dumps(json).encode()
            sent.setdefault("content-type", "application/json")
        return self._backend.send(method, path, sent, body, timeout)

    def requests_session(self) -> requests.Session:
        """Return a `requests` session for full urls; in this process it needs no socket and refuses other hosts."""
        from mockserver.testing.transports import requests_adapter

        return requests_adapter.requests_session(self._backend.client_route())

    def httpx_client(self) -> httpx.Client:
        """Return an `httpx` client on the base url; in this process it needs no socket and refuses other hosts."""
        from mockserver.testing.transports import httpx_transport

        return httpx_transport.httpx_client(self._backend.client_route())

    def end_user(self, session: str | Mapping[str, Any]) -> EndUser:
        """
        Return the person who opens the link of a connection session, and connects a phone number on the hosted page.

        Args:
            session: The session's id, its url, or the JSON of the response that created it.

        Raises:
            ValueError: The sandbox has no such session. On a running server it has the session's url or that JSON.

        Example:
            >>> session = sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
            >>> sandbox.end_user(session).connect(phone="+5511999990000").status
            200
        """
        return self._backend.end_user(session)

    # Calls so far

    @cached_property
    def calls(self) -> CallLog:
        """The calls that it has received: `sandbox.calls("startCampaign")` returns those of an operation (see `CallLog`)."""
        return CallLog(self._backend)

    # State and reports

    @property
    def now(self) -> datetime:
        """The sandbox's time, aware, in UTC."""
        return self._backend.now

    def state(self) -> JSON:
        """
        Return the sandbox's state as JSON.

        Returns:
            A dict with `clock`, `seed`, `choices`, `rules`, `deliveries`, `storedEvents` and `tenants`. A tenant has `tenantId`,
            `name`, `developersEnabled`, `subscription`, `chatCount`, its keys masked (`secretKey`, `publicKey`),
            and a list of each kind of its records: `funnels`, `entrypoints`, `templates`, `chats`, `messages`, `forms`,
            `webhooks`, `campaigns`, `executions`, `sessions`, `walks` (of the hosted page) and `media`.
        """
        return self._backend.run("readState")

    @property
    def events(self) -> list[JSON]:
        """The webhook events so far, oldest first, each with its `deliveries` and their attempts."""
        events: list[JSON] = self._backend.run("readEvents")["events"]
        return events

    def report(self, failure: BaseException | str | None = None) -> str:
        """
        Return the report of the run so far as text: what went wrong, then everything that happened.

        Args:
            failure: The exception or the message of a test that failed; without one the first line says how many problems
                there are.
        """
        from mockserver.report.run import text  # late: few tests print their report

        described = None
        if isinstance(failure, BaseException):
            described = describe(failure)
        elif failure:
            described = in_words(failure)
        undone = self._undone_by(failure)
        views = undone.snapshot if undone else snapshot(self._backend, self.settings)
        run = replace(views, name="sandbox", run_ended=self._run_ended)
        made = text.report(run, described)
        return printable("\n".join([*made.summary, *made.sections]), keep="\n")

    def _undone_by(self, failure: BaseException | str | None) -> UndoneRun | None:
        """Return the run that `checkpoint` has undone because of this exception or one of this group; None if it has undone none."""
        undone = self._undone
        raised = failure.exceptions if isinstance(failure, BaseExceptionGroup) else (failure,)
        is_known = undone is not None and any(undone.failure is each for each in raised)
        return undone if is_known else None

    def _limit_reads(self, limit: int | None) -> None:
        """End a test that reads one record this often without a change (see `ReadsLimit`); not on a running server."""
        if limit is not None and isinstance(self._backend, LocalBackend):
            self._reads_limit = ReadsLimit(self._backend.hosted, limit)

    @property
    def _run_ended(self) -> str | None:
        """The reason why the mock has ended the test; None if it has not."""
        return None if self._reads_limit is None else self._reads_limit.reason

    @property
    def ledger(self) -> Ledger:
        """The side effects of the calls so far: executions, sends, duplicates, clones, abandoned sessions, unused media."""
        return Ledger(self._backend.run("readLedger"))

    @property
    def conduct(self) -> ConductReport:
        """The findings on the client's conduct so far, the worst first; empty, thus false, if there are none."""
        return ConductReport(self._backend.run("readConduct"))

    def assert_conduct(self, *, max_severity: int | None = None) -> None:
        """
        Check that there is no finding on the client's conduct.

        Args:
            max_severity: Findings of this severity and milder ones pass: 3 for noise, 2 for wrong state too, 1 for all. By
                default none passes.

        Raises:
            AssertionError: There are findings; its first line is the worst one.
            ValueError: `max_severity` is not 1, 2 or 3.
        """
        if max_severity not in (None, *SEVERITIES):
            raise ValueError(
                f"max_severity: got {max_severity!r}; expected 1, 2 or 3, or None so that no finding passes"
            )
        findings = [finding for finding in self.conduct if max_severity is None or finding.severity < max_severity]
        if findings:
            raise AssertionError(format_findings(findings))

    # Time

    def advance(
        self,
        /,
        by: str | float | timedelta | None = None,
        *,
        to: str | datetime | None = None,
        until: Literal["idle"] | None = None,
        **length: Unpack[LengthByUnit],
    ) -> list[JSON]:
        """
        Advance the sandbox's clock; timers and webhook deliveries on the way run at their own instants.

        Lengths of time that several threads give at a time add up.

        Args:
            by: A length of time: `"20m"`, seconds, or a timedelta.
            to: The instant at which it ends: ISO 8601 with an offset, or an aware datetime.
            until: "idle" ends after the last timer that will do something.
            **length: A length in `weeks`, `days`, `hours`, `minutes`, `seconds`, `milliseconds` or `microseconds`.

        Returns:
            The timers that fired, oldest first, each with `at`, `what` (such as `session.expire`) and the record's `id`.

        Raises:
            ValueError: The arguments do not give exactly one end, or time would move backwards. Nothing has changed then.

        Example:
            >>> fired = sandbox.advance("20m")
            >>> fired = sandbox.advance(minutes=20)
        """
        arguments = {"by": length_of_advance(by, length), "to": instant_text(to), "until": until}
        given = {name: value for name, value in arguments.items() if value is not None}
        fired: list[JSON] = self._backend.run("advanceClock", **given)["fired"]
        return fired

    def sleep(self, seconds: float, /) -> None:
        """
        Advance the sandbox's clock without real time, for clients that take their sleep function as an argument.

        Timers and webhook deliveries on the way run at their own instants, as in `advance`. A sleep that begins while another
        thread's is in progress, such as one that waits for a receiver, shares its time.

        Args:
            seconds: The length of the sleep, a finite number that is not negative.

        Raises:
            ValueError: It is anything else. Nothing has changed then.

        Example:
            `Retrying(sleep=mockserver.sleep)`; for clients that await it, `sandbox.aio.sleep`.
        """
        self._backend.sleep(length_of_sleep(seconds))

    def freeze(self, at: str | datetime | Literal[True] = True) -> None:
        """
        Stop the sandbox's clock.

        Args:
            at: The instant at which it stops, ISO 8601 with an offset or an aware datetime; by default its present time.

        Raises:
            ValueError: The instant is in the sandbox's past.
        """
        self._backend.run("setClock", freeze=instant_text(at))

    # Data, choices and rules

    def apply(
        self,
        document: Mapping[str, Any] | str | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        choices: Mapping[str, object] | None = None,
        clock: Mapping[str, Any] | None = None,
        script: Sequence[Mapping[str, Any]] | None = None,
    ) -> JSON:
        """
        Apply a scenario document, completely or not at all.

        Args:
            document: A document, or the name of one in the library; or else its parts by keyword.
            given: Seed data: records by kind.
            choices: Options by choice.
            clock: `{"freeze": INSTANT}` or `{"follow": True}`.
            script: Rules.

        Returns:
            A dict with the ids of the records that were `created`, by kind, and of the `rules`.

        Raises:
            ScenarioError: The document has errors, all of which the message contains; nothing was applied.

        Example:
            >>> sandbox.apply(given={"chats": [{"id": "chat_ana"}]})["created"]["chats"]
            ['chat_ana']
        """
        parts = {"given": given, "choices": choices, "clock": clock, "script": script}
        whole = document_or_parts(document, parts)
        return self._backend.run("applyScenario", name=whole) if isinstance(whole, str) else self._backend.apply(whole)

    def choose(self, choices: Mapping[str, object]) -> None:
        """
        Set choices, all of them or none.

        Args:
            choices: Options by the choice's id, such as `{"dual-status": "guide"}`.

        Raises:
            ValueError: A choice or an option is unknown.
        """
        self._backend.run("choose", **{str(name): value for name, value in choices.items()})

    def on(self, operation: OperationName | Literal["delivery"]) -> RuleBuilder:
        """
        Begin a rule for calls or for webhook deliveries.

        Args:
            operation: The id of an operation, `METHOD /path`, `*` for all, or `delivery` for attempts to deliver an event.

        Example:
            >>> rule = sandbox.on("startCampaign").nth(1).error("INTERNAL_ERROR")
        """
        return RuleBuilder(self._add_rule, {"on": operation}, self._own_rules)

    def at(self, after: Length) -> RuleBuilder:
        """
        Begin a rule for an instant.

        Args:
            after: The time from now on the sandbox's clock: `"20m"`, seconds, or a timedelta.
        """
        return RuleBuilder(self._add_rule, {"at": length(after)}, self._own_rules)

    def after(self, *, sent: int) -> RuleBuilder:
        """
        Begin a rule for each execution of a campaign.

        Args:
            sent: The number of messages that the execution has sent when the rule fires.
        """
        return RuleBuilder(self._add_rule, {"after": {"sent": sent}}, self._own_rules)

    def _add_rule(self, entry: JSON) -> ActiveRule:
        (rule_id,) = self._backend.run("applyScenario", script=[entry])["rules"]
        return ActiveRule(rule_id, lambda: self.rules, self.admin.remove_rules)

    @property
    def rules(self) -> list[JSON]:
        """The rules in force, in order, each with the numbers of its matches (`matched`) and firings (`fired`)."""
        return list(self._backend.run("listRules")["rules"])

    # The end user, the provider, and webhooks

    def complete_session(self, session_id: str, *, phone: str | None = None, name: str | None = None) -> JSON:
        """
        Let the end user finish the hosted flow of a connection session.

        Args:
            session_id: The session's id.
            phone: The number that is connected; by default one that no entrypoint has.
            name: The name of the account, by default the tenant's.

        Returns:
            The session as the API shows it then.

        Raises:
            ValueError: There is no such session, its state does not permit this, or the number is not one.
        """
        values = {key: value for key, value in (("phone", phone), ("name", name)) if value is not None}
        return self._backend.run("completeSession", sessionId=session_id, **values)

    def fail_session(self, session_id: str, *, reason: str = "token_exchange_failed") -> JSON:
        """
        Let a connection fail.

        Args:
            session_id: The session's id.
            reason: "token_exchange_failed", "phone_in_use" or "funnel_not_found".

        Returns:
            The session as the API shows it then.

        Raises:
            ValueError: There is no such session, its state does not permit this, or the reason is unknown.
        """
        return self._backend.run("failSession", sessionId=session_id, reason=reason)

    def cancel_session(self, session_id: str) -> JSON:
        """
        Let the end user cancel the hosted flow.

        Args:
            session_id: The session's id.

        Returns:
            The session as the API shows it then.

        Raises:
            ValueError: There is no such session, or its state does not permit this.
        """
        return self._backend.run("cancelSession", sessionId=session_id)

    def expire_session(self, session_id: str) -> JSON:
        """
        Let a session expire now, also before its deadline.

        Args:
            session_id: The session's id.

        Returns:
            The session as the API shows it then.

        Raises:
            ValueError: There is no such session, or its state does not permit this.
        """
        return self._backend.run("expireSession", sessionId=session_id)

    def receive_webhooks(
        self,
        target: str | Callable[..., Any],
        events: Sequence[str] = (),
        secret: str | None = None,
        *,
        tenant_id: str | None = None,
        path: str = "/",
    ) -> Receiver:
        """
        Register a webhook endpoint.

        Args:
            target: A url; or an ASGI or WSGI app, or a function of one request, which are called in process without a socket, and
                over one of loopback for a sandbox on a running server.
                A function may be a coroutine function; it gets `.headers`, `.body` and `.json()`, and returns None, a status,
                or (status, headers, body). Coroutines run on the event loop that runs during the registration.
            events: "entrypoints" or kinds of events; by default all.
            secret: The secret that signs the requests, by default one that follows from the seed.
            tenant_id: The tenant whose events are sent, by default the default tenant.
            path: The path in an app that the requests are sent to.

        Raises:
            ValueError: The tenant or a kind of event is unknown, the url is not permitted, or a running server cannot reach this
                process.

        Example:
            >>> receiver = sandbox.receive_webhooks(lambda request: 204)
            >>> receiver.deliveries
            []
        """
        tenant = tenant_id or self.tenant_id
        if isinstance(target, str):
            own = {"secret": secret} if secret is not None else {}
            row = self._backend.run("createWebhook", url=target, tenantId=tenant, events=list(events), **own)
            return Receiver(row["webhookId"], target, row["secret"], lambda: self.events)
        return self._backend.register_receiver(target, tenant, events, secret, path)

    # Lifetime

    @contextmanager
    def checkpoint(self) -> Iterator[None]:
        """
        Undo everything that happens inside the block, at its end.

        Example:
            >>> with sandbox.checkpoint():
            ...     fired = sandbox.advance("20m")
        """
        restore = self._backend.checkpoint()
        try:
            yield
        except Exception as failure:
            self._undone = undone_run(failure, self._backend, self.settings)
            raise
        finally:
            self._undo(restore)

    def reset(self) -> None:
        """Restore the initial state: same keys, address and ids; data, calls and rules as at the creation."""
        self._undo(self._backend.reset)

    def _undo(self, restore: Callable[[], None]) -> None:
        """Restore an earlier state; of the rules so far none needs to fire, since the ids of later ones may be the same."""
        restore()
        self._own_rules.expected.clear()

    def close(self) -> None:
        """End the sandbox; a second time does nothing."""
        self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Sandbox {self.id} {self._backend}>"

    def local(self, need: str) -> HostedSandbox:
        """
        Return the sandbox in this process.

        Args:
            need: What needs it, for the message.

        Raises:
            ValueError: The sandbox is on a running server.
        """
        return self._backend.local(need).hosted

    @property
    def _hosted(self) -> HostedSandbox:
        """The sandbox in this process, for tests of the mock itself."""
        return self.local("a test of the mock")


class Aio:
    """
    The forms of a sandbox that await: the work is done in another thread while the event loop continues.

    So a receiver on the loop can respond. The methods have the names, arguments and results of those that do not await;
    `run` awaits any other, such as `sandbox.aio.run(sandbox.fail_session, session_id)`.

    Attributes:
        sandbox: The sandbox.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def httpx_client(self) -> httpx.AsyncClient:
        """Return an asyncio `httpx` client on the base url; in this process it needs no socket and refuses other hosts."""
        from mockserver.testing.transports import httpx_transport

        return httpx_transport.httpx_async_client(self.sandbox._backend.client_route())

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """
        Run a function in another thread while this event loop continues.

        Args:
            function: Any function, such as `sandbox.end_user(session).connect`.
            *args: Its arguments.
            **kwargs: Its arguments by keyword.

        Returns:
            Its result.
        """
        return await event_loops.in_thread(lambda: function(*args, **kwargs))

    @staticmethod
    def _of(method: Callable[Concatenate[Sandbox, P], R]) -> Callable[Concatenate[Aio, P], Coroutine[Any, Any, R]]:
        """Return the form of a method of the sandbox that awaits."""

        @wraps(method)
        async def awaited(self: Aio, /, *args: P.args, **kwargs: P.kwargs) -> R:
            return await self.run(getattr(self.sandbox, method.__name__), *args, **kwargs)

        awaited.__qualname__ = f"Aio.{method.__name__}"
        awaited.__doc__ = f"The form of `Sandbox.{method.__name__}` that awaits."
        return awaited

    advance = _of(Sandbox.advance)
    sleep = _of(Sandbox.sleep)
    call = _of(Sandbox.call)
    complete_session = _of(Sandbox.complete_session)
