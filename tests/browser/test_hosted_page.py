"""The hosted page in a real browser, without scripts, on a phone and on a desktop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx
import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.operations.session_calls import PHONE, read
from tests.server.page_calls import visits

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, FloatRect, Locator, Page, ViewportSize

pytestmark = pytest.mark.deep

PHONE_PX: ViewportSize = {"width": 390, "height": 844}
DESKTOP_PX: ViewportSize = {"width": 1280, "height": 900}
BACK = "https://clinic.example/back?tab=2#done"
WALK = ("Conecte seu número oficial", "Escolha a conta comercial", "Escolha o número", "Revise e autorize")


@pytest.fixture
def session(mockserver: Sandbox) -> JSON:
    return create_at_socket(mockserver)


def create_at_socket(mockserver: Sandbox, body: JSON | None = None) -> JSON:
    """Create a session over the socket, so that its url leads there."""
    with httpx.Client(trust_env=False, headers={"X-API-Key": mockserver.secret_key}) as client:
        created: JSON = client.post(f"{mockserver.base_url}{SESSIONS}", json=body or {}).json()
    return created


def go(page: Page, *, number: str | None = None) -> None:
    """Take the page as it proposes itself and go on; with a number, type it."""
    if number is not None:
        page.locator("input[value=other]").check()
        page.get_by_label("Outro número, com DDD").fill(number)
    press(page, page.locator("button.main"))


def press(page: Page, button: Locator) -> None:
    """Click, and wait for the next page: the next read must not see the previous one."""
    with page.expect_event("framenavigated"):  # also where a returnUrl leads to a site that no test reaches
        button.click()
    page.wait_for_load_state()


def status_of(page: Page, url: str) -> int:
    response = page.goto(url)
    assert response is not None
    return response.status


def size_px(shown: Locator) -> FloatRect:
    box = shown.bounding_box()
    assert box is not None
    return box


def heading(page: Page) -> str:
    return page.locator("h1").inner_text()


def complete_flow(page: Page, url: str, *, number: str | None = None, steps: int = 4) -> list[str]:
    """Open the link and go through all steps; answers their headings."""
    page.goto(url)
    seen = []
    for _ in range(steps):
        seen.append(heading(page))
        go(page, number=number if "número?" in seen[-1] or seen[-1] == "Escolha o número" else None)
    return seen


@pytest.mark.parametrize("context", [PHONE_PX, DESKTOP_PX], ids=["phone", "desktop"], indirect=True)
def test_success_leads_back_to_the_return_url(mockserver: Sandbox, context: BrowserContext) -> None:
    session = create_at_socket(mockserver, {"returnUrl": BACK})
    page, messages = context.new_page(), []
    page.on("console", lambda message: messages.append(message.text))

    seen = complete_flow(page, session["url"], number="+55 11 99999-0000")

    page.wait_for_url(BACK)
    assert list(WALK) == seen
    assert PHONE == read(mockserver, session["sessionId"])["entrypoint"]["displayPhone"]
    assert [] == messages
    assert {"createConnectionSession", "readConnectionSession"} == {
        exchange["operation"] for exchange in mockserver.log.journal["exchanges"]
    }


def test_back_and_reload_show_the_page_of_their_url_and_send_no_form_again(
    mockserver: Sandbox, context: BrowserContext, session: JSON
) -> None:
    page = context.new_page()
    complete_flow(page, session["url"], steps=3)
    before, sent = mockserver.state(), []
    page.on("request", lambda request: sent.append(request.method))

    seen = [heading(page)]
    page.reload()
    seen.append(heading(page))
    for move in (page.go_back, page.go_back, page.reload, page.go_forward):
        move()
        seen.append(heading(page))

    *_, number, authorise = WALK
    assert [authorise, authorise, number, "Escolha a conta comercial", "Escolha a conta comercial", number] == seen
    assert (before, {"GET"}) == (mockserver.state(), set(sent))
    go(page)
    assert authorise == heading(page)


def test_an_error_is_in_the_title_and_has_the_focus_until_the_form_is_accepted(
    mockserver: Sandbox, context: BrowserContext, session: JSON
) -> None:
    page = context.new_page()
    complete_flow(page, session["url"], steps=2)
    step = page.url

    go(page, number="12")

    field = page.get_by_label("Outro número, com DDD")
    assert "Erro: Escolha o número · Conexão de número" == page.title()
    assert ("12", 1) == (field.input_value(), field.and_(page.locator(":focus")).count())
    assert page.get_by_role("alert").inner_text() in field.evaluate(
        "(field) => document.getElementById(field.getAttribute('aria-describedby')).innerText"
    )
    go(page, number=PHONE)
    assert (0, WALK[-1]) == (page.get_by_role("alert").count(), heading(page))
    page.goto(step)
    assert (0, "Escolha o número") == (page.get_by_role("alert").count(), heading(page))


def test_a_cancellation_is_confirmed_first(mockserver: Sandbox, context: BrowserContext, session: JSON) -> None:
    page = context.new_page()
    page.goto(session["url"])
    go(page)

    back, cancel = page.get_by_role("button", name="Voltar"), page.locator("summary", has_text="Cancelar")
    assert not page.get_by_role("button", name="Sim, cancelar a conexão").is_visible()
    cancel.click()

    assert page.get_by_role("button", name="Sim, cancelar a conexão").is_visible()
    assert "Cancelar a conexão? Nada será conectado" in page.locator("main").inner_text()
    assert "pending" == read(mockserver, session["sessionId"])["status"]
    assert size_px(back)["width"] > 2 * size_px(cancel)["width"]


@pytest.mark.clause("session.url")
def test_a_frame_shows_nothing_of_the_page(
    mockserver: Sandbox, context: BrowserContext, session: JSON, shop: Callable[[str], str]
) -> None:
    page = context.new_page()

    page.goto(shop(f"<iframe src='{session['url']}' width=300 height=300></iframe>"))

    frame = page.frames[1]
    assert ("chrome-error://chromewebdata/", 0) == (frame.url, frame.locator("form").count())
    assert ["iframe"] == [visit.sec_fetch_dest for visit in visits(mockserver)]
    assert 200 == status_of(page, session["url"])


def test_the_keyboard_is_enough(mockserver: Sandbox, context: BrowserContext, session: JSON) -> None:
    page = context.new_page()
    page.goto(session["url"])

    def tab_to(locator: Locator) -> None:
        for _ in range(12):
            page.keyboard.press("Tab")
            if locator.and_(page.locator(":focus")).count():
                return
        pytest.fail(f"no way to {locator} by Tab")

    tab_to(page.locator("button.main"))
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Escolha a conta comercial")
    tab_to(page.get_by_label("Conta da empresa"))
    page.keyboard.press("ArrowDown")
    tab_to(page.get_by_label("Nome da outra conta"))
    page.keyboard.type("Filial Norte")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Escolha o número")
    tab_to(page.locator("button.main"))
    page.keyboard.press("Space")
    page.wait_for_selector("text=Filial Norte")
    tab_to(page.locator("button.main"))
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Número conectado")

    assert "Filial Norte" == read(mockserver, session["sessionId"])["entrypoint"]["name"]
