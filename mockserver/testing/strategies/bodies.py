"""Valid request bodies of each operation, up to their boundaries."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from mockserver._json import JSON
from mockserver.contract import schemas
from mockserver.contract.endpoints import ENDPOINTS, Operation
from mockserver.contract.limits import RETURN_URL_MAX_CHARS
from mockserver.contract.text import closest_match_hint
from mockserver.testing.strategies import values
from mockserver.testing.strategies.filters import filters

SeedData = Mapping[str, Any]

# The seed data to which bodies refer by default: `sandbox(given=GIVEN)`.
GIVEN: SeedData = MappingProxyType(
    {
        "funnels": [{"id": "funnel_sales", "steps": [{"id": "funnel_step_first"}, {"id": "funnel_step_won"}]}],
        "templates": [
            {"id": "template_internal", "name": "Aviso", "items": [{"type": "text", "text": "Bom dia!"}]},
            {"id": "template_official", "name": "Promo", "isOfficial": True},
            {
                "id": "template_asking",
                "name": "Cupom",
                "items": [{"type": "text", "text": "{{1}}: {{2}} {{3}}"}],
                "variables": [
                    {"key": "var1", "source": "chat.name"},
                    {"key": "var2", "label": "Cupom", "required": True},
                    {"key": "var3", "label": "Loja", "required": False},
                ],
            },
        ],
        "chats": [
            {"id": "chat_ana", "name": "Ana", "monetization": 10, "tagIds": ["tag_new"]},
            {"id": "chat_bia", "name": "Bia", "platform": "photoapp", "status": "closed"},
            {"id": "chat_caio", "name": "Caio", "platform": "chatapp_lite", "tagIds": ["tag_vip"]},
        ],
    }
)
_BASE_URL = "https://app.example/"
_ODD_RETURN_URLS = (
    "https://a",
    "https://app.example:8443/b?c=d&e=f#g",
    "https://app.example/voltar?nome=São",
    "HTTPS://APP.EXAMPLE/",
)
_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
_FILES = (("image/png", _PNG), ("application/pdf", b"%PDF-1.7\n%%EOF\n"), ("text/plain", "Olá".encode()))

File = tuple[str, tuple[str, bytes, str]]


def bodies(operation: Operation, *, given: SeedData = GIVEN) -> st.SearchStrategy[Any]:
    """
    Return a strategy of valid bodies: JSON values, None for an operation without a body, and for `uploadMedia` the
    `files=` of requests and httpx.

    Args:
        operation: The operation's id.
        given: The seed data to which the bodies refer; those of `startCampaign` have the variables of its first template
            with a variable to fill.

    Raises:
        ValueError: The operation is unknown, or the seed data has no template.
    """
    if operation not in ENDPOINTS:
        raise ValueError(
            f"got operation {operation!r}; expected an operation id{closest_match_hint(operation, ENDPOINTS)}"
        )
    if operation == "createCampaign":
        return _campaigns(given)
    if operation == "startCampaign":
        texts = values.texts(0, 100, plain=("DEZ",))
        with_variables = filter(None, map(_manual_variables, _templates(given)))
        variables = next(with_variables, [])
        required = {variable["key"]: texts for variable in variables if variable.get("required")}
        optional = {variable["key"]: texts for variable in variables if not variable.get("required")}
        whole = st.fixed_dictionaries({"commonVariables": st.fixed_dictionaries(required, optional=optional)})
        return whole if required else st.one_of(whole, st.sampled_from([None, {}]))
    if ENDPOINTS[operation].body == "multipart":
        # With accents and blanks in their names.
        names = st.sampled_from(["a.png", "foto de perfil.jpg", "São João.pdf", "sem-extensao"])
        file = st.tuples(names, st.sampled_from(_FILES)).map(lambda pair: ("files", (pair[0], pair[1][1], pair[1][0])))
        return st.lists(file, min_size=1, max_size=3)
    if operation == "createConnectionSession":
        return _sessions(given)
    if operation == "previewAudience":
        return values.from_schema(schemas.load("previewAudience.request"), {"filters": filters()})
    return st.none()


def _templates(given: SeedData) -> list[Mapping[str, Any]]:
    templates = list(given.get("templates", ()))
    if not templates:
        raise ValueError("got seed data without a template, which a campaign needs; expected one in given['templates']")
    return templates


def _is_official(template: Mapping[str, Any]) -> bool:
    return bool(template.get("isOfficial")) or template.get("providerTemplateStatus") == "APPROVED"


def _campaigns(given: SeedData) -> st.SearchStrategy[JSON]:
    own = {
        "templateId": st.sampled_from([template["id"] for template in _templates(given)]),
        "name": values.texts(1, 100, plain=("Campanha",)),
        "filters": filters(max_groups=2),
    }
    official = {template["id"] for template in _templates(given) if _is_official(template)}

    def on_channel(body: JSON) -> JSON:
        is_wrong = body["templateId"] in official and body["platform"] == "chatapp_lite"
        return {**body, "platform": "chatapp"} if is_wrong else body

    return values.from_schema(schemas.load("createCampaign.request"), own).map(on_channel)


def _manual_variables(template: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [variable for variable in template.get("variables", ()) if "source" not in variable]


def _sessions(given: SeedData) -> st.SearchStrategy[JSON]:
    pairs = [(funnel["id"], step["id"]) for funnel in given.get("funnels", ()) for step in funnel.get("steps", ())]
    schema = schemas.load("createConnectionSession.request")
    longest = _BASE_URL + "x" * (RETURN_URL_MAX_CHARS - len(_BASE_URL))
    return_urls = st.one_of(
        st.just(f"{_BASE_URL}back"), st.sampled_from([longest, longest[:-1]]), st.sampled_from(_ODD_RETURN_URLS)
    )
    drawn = values.from_schema(schema, {"returnUrl": return_urls})
    if not pairs:
        return drawn.map(lambda body: {key: body[key] for key in body if key not in ("funnelId", "funnelStepId")})

    def in_funnel(row: tuple[JSON, tuple[str, str]]) -> JSON:
        ids = dict(zip(("funnelId", "funnelStepId"), row[1], strict=True))
        return {key: ids.get(key, value) for key, value in row[0].items()}

    return st.tuples(drawn, st.sampled_from(pairs)).map(in_funnel)
