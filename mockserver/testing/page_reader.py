"""Reading a page as a person sees it: title, visible text, and the forms with what they propose."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import NamedTuple

_UNSEEN = ("head", "script", "style", "template")
_VOID = ("input", "meta", "link", "br", "img", "hr")


class Form(NamedTuple):
    """A form: where it is sent, the fields as they stand, and the values of its buttons in order."""

    action: str
    values: dict[str, str]
    buttons: tuple[str, ...]


def read(html: str) -> tuple[str, str, tuple[Form, ...]]:
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
        self.forms: list[Form] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), {}, ()))
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


def _fill(form: Form, given: dict[str, str]) -> None:
    """Take a field as it stands; of radio buttons and checkboxes the ones that are chosen."""
    if given.get("type") in ("radio", "checkbox") and "checked" not in given:
        return
    if given.get("name"):
        form.values[given["name"]] = given.get("value", "")
