"""
An end user at the hosted page of a connection session: the pages that they see, and the buttons that they press.

Each action is one request. A page is read as a person sees it: title, visible text, and forms with their proposed values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urlencode, urljoin

from mockserver.contract.text import closest_match_hint
from mockserver.testing.transports.in_process import Response

_UNSEEN = ("head", "script", "style", "template")
_VOID = ("input", "meta", "link", "br", "img", "hr")


class HtmlForm(NamedTuple):
    """A form: the url that it is sent to, its proposed values, and the values of its buttons in order."""

    action: str
    values: dict[str, str]
    buttons: tuple[str, ...]


def read_page(html: str) -> tuple[str, str, tuple[HtmlForm, ...]]:
    """Return the title, the visible text with single blanks, and the forms of a page."""
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
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(HtmlForm(attributes.get("action", ""), {}, ()))
        if tag == "input" and self.forms and attributes.get("name"):
            is_box = attributes.get("type") in ("radio", "checkbox")
            if not is_box or "checked" in attributes:
                self.forms[-1].values[attributes["name"]] = attributes.get("value", "")
        if tag == "button" and self.forms:
            form = self.forms[-1]
            self.forms[-1] = form._replace(buttons=(*form.buttons, attributes.get("value", "")))
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


_FORM_TYPE = "application/x-www-form-urlencoded"
_HOPS_MAX = 5


class Page(NamedTuple):
    """
    A page that the end user sees.

    Attributes:
        status: The HTTP status, also of a redirect that leaves the hosted page.
        title: The title.
        text: The visible text with single blanks.
        location: The url outside of the hosted page that the browser was redirected to, such as the returnUrl, and title,
            text and forms are then empty; else None.
        forms: The forms, with their proposed values and buttons.
        headers: The response's headers by lower-case name.
    """

    status: int
    title: str = ""
    text: str = ""
    location: str | None = None
    forms: tuple[HtmlForm, ...] = ()
    headers: Mapping[str, str] = {}

    @property
    def step(self) -> str | None:
        """The step of the flow that the page asks for; None if it asks for none."""
        return next((form.values["step"] for form in self.forms if "step" in form.values), None)

    @property
    def buttons(self) -> tuple[str, ...]:
        """The values of the buttons, in order."""
        return tuple(button for form in self.forms for button in form.buttons)

    def __repr__(self) -> str:  # its forms and location contain secrets
        return f"<Page {self.status} {self.title!r}, step {self.step}, buttons {', '.join(self.buttons) or 'none'}>"


# Sends a request to a url.
SendPage = Callable[[str, str, Mapping[str, str], bytes], Response]


class EndUser:
    """
    The person who opens the link of a connection session and connects a phone number. Created by `Sandbox.end_user`.

    Each action returns the page that they see then, redirects followed, when the webhooks that it causes were delivered. It
    raises ValueError if the present page does not offer it, with the buttons that it offers, or if it blocks the event loop
    of a receiver.

    Attributes:
        url: The link.
        page: The present page; None before the link is opened.

    Example:
        >>> session = sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
        >>> page = sandbox.end_user(session).open()
        >>> page.step
        'intro'
    """

    def __init__(self, url: str, send: SendPage) -> None:
        self.url = url
        self.page: Page | None = None
        self._send = send
        self._at = url
        self._base = url.rpartition("/connect/")[0]
        self._headers = {"user-agent": "EndUser", "accept": "text/html", "sec-fetch-dest": "document"}

    def open(self) -> Page:
        """Open the link in a new tab."""
        self._at = self.url
        return self._go("GET", self.url)

    def reload(self) -> Page:
        """Load the present page again."""
        self._page("reload")
        return self._go("GET", self._at)

    def proceed(self) -> Page:
        """Press the button that continues, with the values that the page proposes."""
        return self._press("continue")

    def choose_account(self, name: str | None = None) -> Page:
        """
        Choose an account and continue.

        Args:
            name: The name of a new account; by default the organization's own account is chosen.
        """
        fields = {"account": "own"} if name is None else {"account": "new", "name": name}
        return self._press("continue", step="account", **fields)

    def choose_number(self, phone: str | None = None) -> Page:
        """
        Choose a phone number and continue.

        Args:
            phone: The number to type; by default the one that the page proposes.
        """
        return self._press("continue", step="number", **({} if phone is None else {"number": "other", "phone": phone}))

    def confirm_in_app(self) -> Page:
        """Confirm that the phone app is paired, as the coexistence flow asks."""
        return self._press("continue", step="app")

    def authorise(self) -> Page:
        """Grant the permissions: the last step."""
        return self._press("continue", step="authorise")

    def back(self) -> Page:
        """Press the button that returns to the step before."""
        return self._press("back")

    def cancel(self) -> Page:
        """Press the button that cancels the flow."""
        return self._press("cancel")

    def simulate(self, end: str) -> Page:
        """
        Press a button of the mock's own panel.

        Args:
            end: A reason of failure, such as "phone_in_use", or "expire".
        """
        return self._press(f"simulate-{end}")

    def connect(self, phone: str | None = None, *, name: str | None = None) -> Page:
        """
        Open the link and finish the flow.

        Args:
            phone: The number to connect; by default the proposed one.
            name: The name of a new account; by default the organization's own account.

        Raises:
            ValueError: The page refuses the number or the name, or the flow does not end.
        """
        page = self.open()
        for _ in range(10):
            if page.step is None:
                return page
            if page.step == "account":
                page = self.choose_account(name)
            elif page.step == "number":
                page = self.choose_number(phone)
            else:
                page = self.proceed()
            if page.status == 422:
                raise ValueError(f"the page refuses the number or the name: {page.text[:300]}")
        raise ValueError(f"the flow does not end; the present page is {page!r}")

    def _page(self, action: str) -> Page:
        if self.page is None:
            raise ValueError(f"{action}: got no page; expected an open one: call open() first")
        return self.page

    def _press(self, button: str, *, step: str | None = None, **fields: str) -> Page:
        page = self._page(button)
        form = next((form for form in page.forms if button in form.buttons), None)
        if form is None or step not in (None, page.step):
            expected = f"the step {step!r}" if step else f"the button {button!r}"
            hint = closest_match_hint(button, page.buttons) if form is None else ""
            offered = f"expected one that the page {page.title!r} offers (status {page.status}): the step {page.step!r} or the buttons {', '.join(page.buttons) or 'none'}"
            raise ValueError(f"got {expected}; {offered}{hint}")
        sent = {**form.values, **fields, "press": button}
        return self._go("POST", urljoin(self._at, form.action), urlencode(sent).encode())

    def _go(self, method: str, url: str, body: bytes = b"") -> Page:
        for _ in range(_HOPS_MAX):
            sent = dict(self._headers)
            if method == "POST":  # a form of a page that permits no referrer
                sent |= {"content-type": _FORM_TYPE, "origin": "null", "sec-fetch-site": "same-origin"}
            answer = self._send(method, url, sent, body)
            location = answer.headers.get("location")
            if location is None:
                title, text, forms = read_page(answer.body.decode("utf-8", "replace"))
                self._at = url
                self.page = Page(answer.status, title, text, forms=forms, headers=answer.headers)
                return self.page
            url, method, body = urljoin(url, location), "GET", b""
            if not url.startswith(f"{self._base}/connect/"):
                self.page = Page(answer.status, location=url, headers=answer.headers)
                return self.page
        raise ValueError(f"more than {_HOPS_MAX} redirects, the last one to {url}")

    def __repr__(self) -> str:  # the url contains a secret
        return f"<EndUser at {self.page!r}>" if self.page else "<EndUser, no page>"
