"""
Parts of the Python interface of a sandbox: its clock, its webhook endpoints, the log of what happened, and its operator's acts.

`Sandbox` has each as an attribute. What a test uses most is on `Sandbox` itself.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mockserver._json import JSON
from mockserver.contract.text import camel_case, closest_match_hint
from mockserver.report.run import exchanges
from mockserver.report.run.exchanges import Exchange
from mockserver.testing.arguments import instant, is_for_caller
from mockserver.testing.backend import Backend

if TYPE_CHECKING:
    import flask

__tracebackhide__ = is_for_caller


class SandboxClock:
    """The clock of a sandbox, other than `advance`, `freeze`, `sleep` and `now`, which the sandbox itself has."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def next_due(self) -> datetime | None:
        """The instant of the next timer that will do something, aware, in UTC; None if there is none."""
        due = self._backend.run("readHistory")["due"]
        return None if due is None else instant(due["at"])

    def follow(self, *, catch_up: bool = False) -> None:
        """
        Let the sandbox's clock run by itself, with the process's clock, instead of by `advance` alone.

        Args:
            catch_up: Continue at the process's time; by default it continues from its own present time.
        """
        self._backend.run("setClock", follow=True, catchUp=catch_up)


class Webhooks:
    """Acts on webhook endpoints and their deliveries; the sandbox's `receive_webhooks` registers an endpoint."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def redeliver(self, event_id: str) -> JSON:
        """
        Send an event again to each endpoint whose delivery has ended, and to each that accepts it and has had none.

        Args:
            event_id: The event's id.

        Returns:
            The event with its deliveries and their attempts.

        Raises:
            ValueError: There is no such event, or no endpoint to send it to.
        """
        return self._backend.run("redeliverEvent", id=event_id)

    def recover(self, webhook_id: str) -> list[str]:
        """
        Send all abandoned deliveries of an endpoint again, in the order of their events.

        Args:
            webhook_id: The endpoint's id.

        Returns:
            The ids of the events.

        Raises:
            ValueError: There is no such endpoint.
        """
        event_ids: list[str] = self._backend.run("recoverWebhook", id=webhook_id)["events"]
        return event_ids

    def rotate(self, webhook_id: str, secret: str) -> None:
        """
        Sign the deliveries to an endpoint with a new secret, and for a while with the former one too.

        The choice `wh-secret-rotation` is the length of that while on the sandbox's clock, a day by default.

        Args:
            webhook_id: The endpoint's id.
            secret: The new secret.

        Raises:
            ValueError: There is no such endpoint.
        """
        self._backend.run("rotateWebhook", id=webhook_id, secret=secret)


class Log:
    """What has happened in a sandbox so far, as data; the sandbox's `calls`, `events` and `report` show it for tests."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def exchanges(self) -> list[Exchange]:
        """Every call so far, oldest first, also of paths that no operation has."""
        return [exchanges.read(row) for row in self.journal["exchanges"]]

    @property
    def call_count(self) -> int:
        """The number of API calls so far."""
        return self._backend.call_count

    @property
    def journal(self) -> JSON:
        """A dict with `exchanges` and `transitions` so far, oldest first; keys are redacted."""
        return self._backend.run("readJournal")

    @property
    def history(self) -> JSON:
        """A dict with the `steps` so far (the commands and page visits, oldest first), the calls that a rule defers (`deferred`), and the next timer (`due`); keys redacted."""
        return self._backend.run("readHistory")

    def replay_document(self, name: str = "replay") -> JSON:
        """
        Return the scenario document that repeats the run so far, for `mockserver replay-calls`.

        Args:
            name: The name of the scenario.
        """
        return self._backend.run("readReplay", name=name)

    def har(self) -> JSON:
        """
        Return the calls and the requests to receivers so far as a HAR 1.2, without keys.

        A viewer of a browser or a proxy opens it, and `mockserver judge` reads it. Times are the sandbox's.
        """
        return self._backend.run("readHar")

    def watch_choices(self, read: set[str]) -> None:
        """
        Record which choices are read from now on, also after a reset.

        Args:
            read: The set that each choice's id is added to; for a sandbox on a running server, when it is closed.
        """
        self._backend.track_choices(read)


class Admin:
    """What the operator of the service does, which no client of its API can: tenants, keys, rules, failures."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def address(self) -> str | None:
        """The base url if there is a socket already, else None; reading it opens none."""
        return self._backend.address

    def keys(self, tenant_id: str) -> tuple[str, str]:
        """
        Return the secret key and the public key of a tenant, whole.

        Args:
            tenant_id: The id of one of the sandbox's tenants.

        Raises:
            ValueError: There is no such tenant, or the sandbox is on a running server.
        """
        tenants = self._backend.local("sandbox.admin.keys").hosted.sandbox.tenants
        tenant = tenants.get(tenant_id)
        if tenant is None:
            raise ValueError(
                f"tenant_id: got {tenant_id!r}; expected {', '.join(tenants)}{closest_match_hint(tenant_id, tenants)}"
            )
        return tenant.secret_key, tenant.public_key

    @cached_property
    def app(self) -> flask.Flask:
        """
        The Flask application of this sandbox, with `test_client()`, or to mount in another WSGI program.

        Its endpoints have the names of `mockserver.create_app`, such as `api.readCampaign`.
        """
        from mockserver.server import app

        hosted = self._backend.local("sandbox.admin.app").hosted
        return app.build(hosted.host, hosted)

    def set_tenant(self, tenant_id: str | None = None, **settings: Any) -> JSON:
        """
        Change the settings of a tenant.

        Args:
            tenant_id: The tenant's id, by default the default tenant's.
            **settings: `name`, `developers_enabled` (or `developersEnabled`, as the command has it), or `subscription`: "active",
                "suspended", "canceled" or "none".

        Returns:
            The settings as they are then, keys redacted.

        Raises:
            ValueError: The tenant, a setting or its value is unknown.
        """
        named = {camel_case(name): value for name, value in settings.items()}
        return self._backend.run("setTenant", id=tenant_id or self._backend.tenant_id, **named)

    def remove_rules(self, rule_id: str | None = None) -> None:
        """
        End rules.

        Args:
            rule_id: The id of one rule; by default all rules end.

        Raises:
            ValueError: There is no such rule.
        """
        if rule_id is None:
            self._backend.run("removeRules")
        else:
            self._backend.run("removeRule", id=rule_id)

    def fail_campaign(self, campaign_id: str) -> JSON:
        """
        Let a running campaign fail with an unrecoverable error.

        Args:
            campaign_id: The campaign's id.

        Returns:
            The campaign as the API shows it then.

        Raises:
            ValueError: There is no such campaign, or it is not running.
        """
        return self._backend.run("failCampaign", id=campaign_id)
