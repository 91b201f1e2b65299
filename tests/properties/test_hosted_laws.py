"""The laws of the hosted page, over whatever several people press in several tabs."""

from typing import Any
from urllib.parse import urlencode

from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.core.operations import hosted_flow
from mockserver.testing.transports.in_process import Response
from tests.operations.session_calls import NOON, create
from tests.server.page_calls import FORM, fields, get, inside, post

STEPS = ("intro", "account", "number", "app", "authorise", "cancelled", "nothing", "")
BUTTONS = (
    "continue",
    "continue",
    "continue",
    "back",
    "cancel",
    *(f"simulate-{end}" for end in hosted_flow.SIMULATED),
    "other",
)
ANSWERS = {"account": ("own", "new", ""), "name": ("Matriz", ""), "number": ("+5511999990000", "other", ""), "phone": ("12", "+5511988880000")}  # fmt: skip
OPTIONS = {
    id: st.sampled_from(CHOICES[id].options)
    for id in ("link-consumed-when", "return-on-failure", "return-query", "user-cancels", "expiry-driver")
}
BODY = st.fixed_dictionaries({"coexistence": st.booleans()}, optional={"returnUrl": st.just("https://clinic.example/")})
PRESSES = st.tuples(
    st.just("press"),
    st.sampled_from(BUTTONS),
    st.none() | st.sampled_from(STEPS),
    st.fixed_dictionaries({name: st.sampled_from(each) for name, each in ANSWERS.items()}),
)
ACTS = st.one_of(
    PRESSES, PRESSES, PRESSES, st.tuples(st.just("open")), st.tuples(st.just("wait"), st.sampled_from((1, 600, 1200)))
)


class Tab:
    """A tab at the link, or at the flow that it started."""

    def __init__(self, sandbox: Sandbox, link: str) -> None:
        self.sandbox, self.at, self.link = sandbox, link, link

    def act(self, kind: str, *how: Any) -> Response:
        if kind == "open":
            return self._follow(get(self.sandbox, self.link))
        page = get(self.sandbox, self.at)
        button, step, given = how
        form = fields(page) | given | {"press": button}
        return self._follow(post(self.sandbox, self.at, form if step is None else form | {"step": step}))

    def _follow(self, reply: Response) -> Response:
        location = reply.headers.get("location", "")
        if location.startswith("/"):
            self.at = inside(self.sandbox, location)
        return reply


@given(BODY, st.fixed_dictionaries(OPTIONS), st.lists(st.tuples(st.integers(0, 2), ACTS), max_size=25))
def test_a_link_yields_one_end_at_most_and_every_press_gets_a_page(
    mockserver_server: MockServer, body: JSON, choices: JSON, acts: list[tuple[int, tuple[Any, ...]]]
) -> None:
    with mockserver_server.sandbox(now=NOON, choices=choices) as sandbox:
        session = create(sandbox, body)
        tabs = [Tab(sandbox, inside(sandbox, session["url"])) for _ in range(3)]
        for tab, (kind, *how) in acts:
            if kind == "wait":
                sandbox.advance(how[0])
                continue
            reply = tabs[tab].act(kind, *how)

            assert reply.status in (200, 303, 400, 403, 410, 422)
        entrypoints = sandbox.state()["tenants"][0]["entrypoints"]
        ends = [moved["to"] for moved in sandbox.log.journal["transitions"] if moved["from"] == "pending"]

        assert len(ends) == len(sandbox.events) <= 1
        assert (ends == ["completed"]) == (len(entrypoints) == 1)
        assert ["createConnectionSession"] == [each["operation"] for each in sandbox.log.journal["exchanges"]]


@given(BODY, st.lists(PRESSES, max_size=8))
def test_viewing_a_page_changes_nothing(
    mockserver_server: MockServer, body: JSON, presses: list[tuple[str, str, str | None, JSON]]
) -> None:
    with mockserver_server.sandbox(now=NOON) as sandbox:
        tab = Tab(sandbox, inside(sandbox, create(sandbox, body)["url"]))
        for each in presses:
            tab.act(*each)
        before = sandbox.state()

        pages = [get(sandbox, tab.at) for _ in range(2)]
        sandbox.call("HEAD", tab.link, key="")

        assert pages[0] == pages[1]
        assert before == sandbox.state()


@given(st.binary(max_size=200), st.sampled_from(("POST", "GET", "PUT", "HEAD")), st.text(max_size=30))
def test_every_request_is_answered_with_a_page(
    mockserver_server: MockServer, body: bytes, method: str, path: str
) -> None:
    with mockserver_server.sandbox(now=NOON) as sandbox:
        link = inside(sandbox, create(sandbox)["url"])
        secret = fields(get(sandbox, link))["secret"]
        bodies = (body, urlencode({"secret": secret, "press": "continue", "step": "intro"}).encode() + b"&" + body)
        for target in (f"/connect/{path}", link):
            for sent in bodies:
                reply = sandbox.call(method, target, key="", headers=FORM, body=sent)

                assert reply.status in (200, 303, 400, 403, 405, 410)
