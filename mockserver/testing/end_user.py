"""
An end user at a session's hosted page, and the reading of its pages.

Reading a page as a person sees it: title, visible text, and the forms with what they propose.

A person at a session's hosted page: what they see, and the buttons they press, one request each.
"""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from http.client import HTTPConnection
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode, urljoin, urlsplit

from mockserver.contract.text import nearest_hint
from mockserver.server import front_controller
from mockserver.server.api.request import HttpRequest
from mockserver.server.api.response import NoResponse
from mockserver.server.hosting.host import HostedSandbox

_UNSEEN = ("head", "script", "style", "template")
_VOID = ("input", "meta", "link", "br", "img", "hr")


class HtmlForm(NamedTuple):
    """A form: where it is sent, the fields as they stand, and the values of its buttons in order."""

    action: str
    values: dict[str, str]
    buttons: tuple[str, ...]


def read_page(html: str) -> tuple[str, str, tuple[HtmlForm, ...]]:
    """The title, the visible text with single blanks, and the forms of a page."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return " ".join(reader.title.split()), " ".join(" ".join(reader.texts).split()), tuple(reader.forms)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.texts: list[str] = []
        self.forms: list[HtmlForm] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(HtmlForm(given.get("action", ""), {}, ()))
        if tag == "input" and self.forms:
            _fill(self.forms[-1], given)
        if tag == "button" and self.forms:
            form = self.forms[-1]
            self.forms[-1] = form._replace(buttons=(*form.buttons, given.get("value", "")))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if "title" in self._open and "svg" not in self._open:
            self.title += data
        elif not any(tag in self._open for tag in _UNSEEN):
            self.texts.append(data)


def _fill(form: HtmlForm, given: dict[str, str]) -> None:
    """Take a field as it stands; of radio buttons and checkboxes the ones that are chosen."""
    if given.get("type") in ("radio", "checkbox") and "checked" not in given:
        return
    if given.get("name"):
        form.values[given["name"]] = given.get("value", "")


_FORM_TYPE = "application/x-www-form-urlencoded"
_HOPS_MAX = 5


class Page(NamedTuple):
    """
    What the person sees: the HTTP status, the title, the visible text and the forms of a page.

    `step` is the step that the page asks for, None where it asks for none. `location` is where the person left the hosted
    page for, such as the returnUrl; the rest is then empty.
    """

    status: int
    title: str = ""
    text: str = ""
    location: str | None = None
    forms: tuple[HtmlForm, ...] = ()
    headers: Mapping[str, str] = {}

    @property
    def step(self) -> str | None:
        """The step that the page asks for; None if it asks for none."""
        return next((form.values["step"] for form in self.forms if "step" in form.values), None)

    @property
    def buttons(self) -> tuple[str, ...]:
        """What can be pressed, by the values of the buttons."""
        return tuple(button for form in self.forms for button in form.buttons)

    def __repr__(self) -> str:  # its forms and location hold secrets
        return f"<Page {self.status} {self.title!r}, step {self.step}, buttons {', '.join(self.buttons) or 'none'}>"


class EndUser:
    """
    A person with a session's link. Each verb answers the page that they then see, redirects followed.

    A verb that the page at hand does not offer is a ValueError that names what it does offer.
    """

    def __init__(self, hosted: HostedSandbox, url: str, *, socket: bool = False, user_agent: str = "EndUser") -> None:
        self.url = url
        self.page: Page | None = None
        self._hosted = hosted
        self._socket = socket
        self._at = url
        self._base = url.rpartition("/connect/")[0]
        self._headers = {"user-agent": user_agent, "accept": "text/html", "sec-fetch-dest": "document"}

    def open(self) -> Page:
        """Open the link, in a fresh tab."""
        self._at = self.url
        return self._go("GET", self.url)

    def reload(self) -> Page:
        """Load the page at hand again."""
        self._page("reload")
        return self._go("GET", self._at)

    def proceed(self) -> Page:
        """Press the button that goes on, with everything as the page proposes it."""
        return self._press("continue")

    def choose_account(self, name: str | None = None) -> Page:
        """Take the organisation's own account, or another one of this name, and go on."""
        chosen = {"account": "own"} if name is None else {"account": "new", "name": name}
        return self._press("continue", step="account", **chosen)

    def choose_number(self, phone: str | None = None) -> Page:
        """Take the number that the page proposes, or type this one, and go on."""
        return self._press("continue", step="number", **({} if phone is None else {"number": "other", "phone": phone}))

    def confirm_in_app(self) -> Page:
        """Say that the phone app has been paired, as the coexistence walk asks."""
        return self._press("continue", step="app")

    def authorise(self) -> Page:
        """Grant what is asked: the last step."""
        return self._press("continue", step="authorise")

    def back(self) -> Page:
        """Press the button that returns to the step before."""
        return self._press("back")

    def cancel(self) -> Page:
        """Press the button that cancels the flow."""
        return self._press("cancel")

    def simulate(self, end: str) -> Page:
        """Press a button of the mock's own panel: a reason of failure, or `expire`."""
        return self._press(f"simulate-{end}")

    def close_tab(self) -> None:
        """Walk away: the mock sees nothing of it."""
        self.page = None

    def connect(self, phone: str | None = None, *, name: str | None = None) -> Page:
        """The whole walk from the link to its end, with this number and account or the proposed ones."""
        page = self.open()
        for _ in range(10):
            if page.step is None:
                return page
            page = {
                "account": lambda: self.choose_account(name),
                "number": lambda: self.choose_number(phone),
            }.get(page.step, self.proceed)()
            if page.status == 422:
                raise ValueError(f"the page refuses what was chosen: {page.text[:300]}")
        raise ValueError(f"the walk does not end; it stands at {page!r}")

    def _page(self, wanted: str) -> Page:
        if self.page is None:
            raise ValueError(f"{wanted!r} wants an open page; the tab is closed: call open() first")
        return self.page

    def _press(self, button: str, *, step: str | None = None, **fields: str) -> Page:
        page = self._page(button)
        form = next((form for form in page.forms if button in form.buttons), None)
        if form is None or step not in (None, page.step):
            wanted = f"the step {step!r}" if step else f"the button {button!r}"
            hint = nearest_hint(button, page.buttons) if form is None else ""
            offered = f"the page {page.title!r} (status {page.status}) has the step {page.step!r} and the buttons {', '.join(page.buttons) or 'none'}"
            raise ValueError(f"wanted {wanted}, but {offered}{hint}")
        sent = {**form.values, **fields, "press": button}
        return self._go("POST", urljoin(self._at, form.action), urlencode(sent).encode())

    def _go(self, method: str, url: str, body: bytes = b"") -> Page:
        for _ in range(_HOPS_MAX):
            status, headers, content = self._asked(method, url, body)
            location = headers.get("location")
            if location is None:
                title, text, forms = read_page(content.decode("utf-8", "replace"))
                self._at, self.page = url, Page(status, title, text, None, forms, headers)
                return self.page
            url, method, body = urljoin(url, location), "GET", b""
            if not url.startswith(f"{self._base}/connect/"):
                self.page = Page(status, location=url, headers=headers)
                return self.page
        raise ValueError(f"more than {_HOPS_MAX} redirects, the last one to {url}")

    def _asked(self, method: str, url: str, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """One request as a browser sends it: of its own forms it says `Origin: null`, for the pages send no referrer."""
        headers = dict(self._headers)
        if method == "POST":
            headers |= {"content-type": _FORM_TYPE, "origin": "null", "sec-fetch-site": "same-origin"}
        if self._socket:
            return _over_socket(method, url, headers, body)
        hosted = self._hosted
        target = url.removeprefix(self._base)
        request = HttpRequest.create(method, target, headers, body, self._base)
        answer, _ = front_controller.handle_request(hosted.host, request, hosted)
        if isinstance(answer, NoResponse):
            raise answer.as_error()
        return answer.status, {name.lower(): value for name, value in answer.headers}, answer.body

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close_tab()

    def __repr__(self) -> str:  # the url is a secret
        return f"<EndUser at {self.page!r}>" if self.page else "<EndUser, tab closed>"


def _over_socket(
    method: str, url: str, headers: Mapping[str, str], body: bytes
) -> tuple[int, Mapping[str, str], bytes]:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        connection.request(method, parts.path, body or None, dict(headers))
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def link_of(hosted: HostedSandbox, session: str | Mapping[str, Any]) -> str:
    """The url of a session given by its id, its url under whatever host, or the JSON of its creation; refuses any other."""
    named = session if isinstance(session, str) else str(session.get("url") or session.get("sessionId") or "")
    base = f"{hosted.base_url}/connect/"
    with hosted.sandbox.lock:
        known: dict[str, str] = {each.id: each.token for _, each in hosted.sandbox.records("session")}
    if "/" in named:
        token = named.rpartition("/")[2]
        if token not in known.values():
            raise ValueError(f"the url is no link of this sandbox, whose links begin with {base}")
        return base + token
    if named not in known:
        hint = nearest_hint(named, known) or f"; there is {', '.join(list(known)[:5]) or 'none yet'}"
        raise ValueError(f"no session {named!r} in this sandbox{hint}")
    return base + known[named]
