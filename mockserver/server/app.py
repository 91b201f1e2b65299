"""
The Flask application: a route for each operation, each control command, the media and the hosted page.

1. The routes are made from the tables of those parts. A route is the name of a request, such as `api.readCampaign`, for
   hooks, `url_for` and `flask --app mockserver routes`.
2. The front controller responds, also to a request without a route, so that this application, the socket and the calls in
   process return the same bytes, and the journal has the call of a client with a wrong base path.
3. Flask matches the raw path, as `api.router` does: an encoded slash is part of a parameter, no path is redirected, and
   methods are case-sensitive. The prefix of a sandbox is a mount: below it the routes are the same.

The package's own server does not use this application (see `socket_handler`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote

from flask import Blueprint, Flask, Request, Response, request
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.routing import MapAdapter, UnicodeConverter

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.server import front_controller
from mockserver.server.control.routes import ROUTES
from mockserver.server.hosted_page import handler, pages
from mockserver.server.hosted_page.request import FLOW_PREFIX
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.server.wsgi import WsgiRequest, flask_response, raw_target, read_request
from mockserver.wire.request import SANDBOXES

View = Callable[..., Response]


def create_app(scenario: str | None = None, *, seed: int = 0) -> Flask:
    """
    Return the mock as a WSGI application, with a host and a default sandbox of its own.

    It runs under any WSGI server, with `test_client()`, mounted in another program, and as
    `flask --app 'mockserver:create_app("demo")' run`.

    Args:
        scenario: the name of a library scenario for the default sandbox; None for an empty tenant.
        seed: of the default sandbox's ids, keys and chances.

    Returns:
        The application. Its endpoints are `api.{operation id}`, `control.{command id}`, `media.download`, `page.link`,
        `page.flow` and `page.asset`.

    Raises:
        ScenarioError: the library has no scenario of this name; the message contains the nearest one.
    """
    host = SandboxHost()
    host.create(SandboxConfig(scenario=scenario, seed=seed), id=DEFAULT_ID)
    return build(host)


def build(host: SandboxHost, root: HostedSandbox | None = None) -> Flask:
    """
    Return the application over a host's sandboxes.

    Args:
        host: may get and lose sandboxes while the application runs.
        root: the sandbox at the root, by default the host's default one.
    """
    app = _MockApp(host, root)
    for blueprint in _blueprints(app.respond):
        app.register_blueprint(blueprint)
    app.register_error_handler(HTTPException, app.respond_to_error)
    return app


def _blueprints(view: View) -> Iterator[Blueprint]:
    api = Blueprint("api", __name__)
    for operation in ENDPOINTS.values():
        _add_route(api, operation.path, operation.id, view, operation.method)
    yield api
    control = Blueprint("control", __name__)
    for command in ROUTES:
        _add_route(control, command.path, command.id, view, command.method)
    yield control
    media = Blueprint("media", __name__)
    _add_route(media, "/media/{id}", "download", view, "GET")
    yield media
    page = Blueprint("page", __name__)
    _add_route(page, "/connect/{token}", "link", view, *pages.ALLOWED)
    _add_route(page, f"/connect/{FLOW_PREFIX}{{secret}}", "flow", view, *pages.ALLOWED)
    for path in handler.STATIC_ASSETS:
        _add_route(page, path, "asset", view, "GET")
    yield page


def _add_route(blueprint: Blueprint, template: str, name: str, view: View, *methods: str) -> None:
    blueprint.add_url_rule(
        re.sub(r"\{(\w+)\}", r"<\1>", template),
        name,
        view,
        provide_automatic_options=False,
        methods=methods,
    )


class _Segment(UnicodeConverter):
    """One segment of a raw path, decoded."""

    def to_python(self, value: str) -> str:
        return unquote(value)

    def to_url(self, value: str) -> str:
        return quote(str(value), safe="")


class _MockApp(Flask):
    """Flask with the front controller as its view, and a router that matches the request as it was received."""

    request_class = WsgiRequest

    def __init__(self, host: SandboxHost, root: HostedSandbox | None) -> None:
        super().__init__("mockserver", static_folder=None)
        self._host = host
        self._root = root
        self.config["PROPAGATE_EXCEPTIONS"] = True  # a broken response is an exception
        self.url_map.merge_slashes = False
        self.url_map.converters |= {"default": _Segment, "string": _Segment}

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        adapter = super().create_url_adapter(request)
        if request is None or adapter is None:
            return adapter
        prefix, path = self._split_prefix(raw_target(request).partition("?")[0])
        if path.startswith("//") or request.method != request.environ["REQUEST_METHOD"]:
            raise NotFound  # werkzeug drops the first slash, and writes the method in upper case
        adapter.script_name = f"{adapter.script_name.removesuffix('/')}{prefix}/"
        adapter.path_info = path
        return adapter

    def _split_prefix(self, path: str) -> tuple[str, str]:
        """Return the prefix of a sandbox, empty if the path has none, and the rest of the path."""
        is_alone = self._root is not None and self._root.own_origin is not None
        if is_alone or not path.startswith(SANDBOXES):
            return "", path
        sandbox_id, slash, rest = path.removeprefix(SANDBOXES).partition("/")
        return SANDBOXES + sandbox_id, slash + rest

    def respond(self, **_params: str) -> Response:
        """Return the front controller's response to the current request, whose target has the parameters."""
        received = read_request(request, self._host.origin)
        result, after = front_controller.handle_request(self._host, received, self._root)
        response = flask_response(result)
        response.call_on_close(after)
        return response

    def respond_to_error(self, error: HTTPException) -> Response | HTTPException:
        """Return the documented error for a request without a route; an error that a hook has raised is its response."""
        if error is not request.routing_exception:
            return error
        request.routing_exception = None  # it would hold this call in a cycle of frames
        return self.respond()
