"""Every refusal that the operations produce by themselves: how to provoke it, and its exact text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.clients.operations import SESSIONS
from tests.operations.world import DRAFT, MULTIPART, OPERATIONS, OTHER_KEY, draft, form, running, upload

if TYPE_CHECKING:
    from mockserver import Sandbox
    from mockserver.testing.transports.in_process import Response

Provoke = Callable[["Sandbox"], "Response"]


class Refusal(NamedTuple):
    """`status` is that of the catalogue; `provoke` calls a sandbox of `world.GIVEN` in which `choices` are set."""

    code: str
    status: int
    message: str
    provoke: Provoke
    choices: Mapping[str, Any] = MappingProxyType({})


def _create(**fields: Any) -> Provoke:
    return lambda sandbox: sandbox.call("POST", "/v1/campaigns", json=DRAFT | fields)


def _get(path: str) -> Provoke:
    return lambda sandbox: sandbox.call("GET", path)


def _filtered(field: str, operator: str, value: object) -> Provoke:
    groups = [{"combinator": "and", "statements": [{"field": field, "operator": operator, "value": value}]}]
    return lambda sandbox: sandbox.call("POST", "/v1/campaigns/audience-preview", json={"filters": groups})


def _with_tenant(**settings: Any) -> Provoke:
    def provoke(sandbox: Sandbox) -> Response:
        sandbox.admin.set_tenant(**settings)
        return sandbox.call(*OPERATIONS["listCampaigns"])

    return provoke


def _start_of(**fields: Any) -> Provoke:
    def provoke(sandbox: Sandbox) -> Response:
        return sandbox.call("POST", f"/v1/campaigns/{draft(sandbox, **fields)}/start")

    return provoke


def _start_again(sandbox: Sandbox) -> Response:
    campaign_id, _ = running(sandbox)
    return sandbox.call("POST", f"/v1/campaigns/{campaign_id}/start")


def _after_the_end(verb: str) -> Provoke:
    def provoke(sandbox: Sandbox) -> Response:
        campaign_id, _ = running(sandbox)
        sandbox.advance(until="idle")
        return sandbox.call("POST", f"/v1/campaigns/{campaign_id}/{verb}")

    return provoke


def _same_name_twice(sandbox: Sandbox) -> Response:
    draft(sandbox)
    return sandbox.call("POST", "/v1/campaigns", json=DRAFT)


def _across_tenants(sandbox: Sandbox) -> Response:
    return sandbox.call("GET", f"/v1/campaigns/{draft(sandbox, key=OTHER_KEY, templateId='template_other')}")


def _twice_within_a_minute(sandbox: Sandbox) -> Response:
    sandbox.call(*OPERATIONS["listCampaigns"])
    return sandbox.call(*OPERATIONS["listCampaigns"])


def _no_file(sandbox: Sandbox) -> Response:
    return sandbox.call("POST", "/v1/messaging/media", body=form(), headers={"Content-Type": MULTIPART})


def _files(*files: tuple[str, str, bytes]) -> Provoke:
    return lambda sandbox: upload(sandbox, *files)


_NOTE = ("nota.txt", "text/plain", b"nota")
_MIB = 1024 * 1024

# fmt: off
REFUSALS = (
    Refusal("API_KEY_MISSING", 401, "Informe a chave de API no cabeçalho X-API-Key.",
        lambda sandbox: sandbox.call("GET", "/v1/campaigns", key="")),
    Refusal("API_KEY_INVALID", 401, "A chave de API informada não é válida.",
        lambda sandbox: sandbox.call("GET", "/v1/campaigns", key="sk_nobodys")),
    Refusal("API_KEY_WRONG_TYPE", 401,
        "Este endpoint não aceita o tipo de chave enviado. Use a chave secreta da organização.",
        lambda sandbox: sandbox.call("GET", "/v1/campaigns", key=sandbox.public_key)),
    Refusal("DEVELOPERS_DISABLED", 401, "O ambiente de desenvolvedores não está habilitado para esta organização.",
        _with_tenant(developersEnabled=False)),
    Refusal("SUBSCRIPTION_INACTIVE", 403,
        "A assinatura da organização não está ativa. Regularize o plano para continuar.",
        _with_tenant(subscription="suspended")),
    Refusal("RESOURCE_ACCESS_DENIED", 403, "Você não tem permissão para acessar este recurso.",
        _across_tenants, {"cross-tenant-code": "access-denied"}),
    Refusal("ENTRYPOINT_NOT_FOUND", 404, "Canal não encontrado.", _get("/v1/entrypoints/nobodys")),
    Refusal("FORM_NOT_FOUND", 404, "Formulário não encontrado.", _get("/v1/forms/nobodys/embed-frame-policy")),
    Refusal("CHAT_NOT_FOUND", 404, "Conversa não encontrada.", _get("/v1/messaging/chats/nobodys")),
    Refusal("RESOURCE_NOT_FOUND", 404, "O recurso solicitado não existe ou não está acessível.",
        _get(f"{SESSIONS}/nobodys")),
    Refusal("VALIDATION_ERROR", 400, "Os dados enviados são inválidos. Verifique o campo cadence.", _create(cadence=0)),
    Refusal("PLATFORM_UNSUPPORTED", 400, "O valor informado em platform não é aceito.",
        _filtered("chat.platform", "equals", "pigeon"), {"platform-value-unknown": "platform-unsupported"}),
    Refusal("MEDIA_UPLOAD_EMPTY", 400, "Nenhum arquivo foi enviado. Anexe ao menos um arquivo no campo files.",
        _no_file),
    Refusal("MEDIA_UPLOAD_TOO_MANY_FILES", 400, "Envie no máximo 2 arquivos por requisição.",
        _files(_NOTE, _NOTE, _NOTE), {"media-max-files": 2}),
    Refusal("MEDIA_FILE_TOO_LARGE", 400, "O arquivo longo.txt ultrapassa o tamanho máximo de 1 MB.",
        _files(("longo.txt", "text/plain", b"a" * (_MIB + 1))), {"media-max-size": {"document": _MIB}}),
    Refusal("MEDIA_INVALID_FORMAT", 400, "O formato do arquivo jogo.exe não é aceito.",
        _files(("jogo.exe", "application/x-msdownload", b"MZ"))),
    Refusal("INVALID_REQUEST", 400, "A combinação de parâmetros enviada não é permitida.",
        lambda sandbox: sandbox.call("POST", SESSIONS, json={"funnelId": "funnel_sales"}),
        {"funnelId-alone": "invalid-request"}),
    Refusal("UNPROCESSABLE_REQUEST", 422, "Não é possível executar esta operação no estado atual do recurso.",
        _after_the_end("cancel")),
    Refusal("CAMPAIGN_NOT_FOUND", 404, "Campanha não encontrada.", _get("/v1/campaigns/nobodys")),
    Refusal("CAMPAIGN_NAME_ALREADY_EXISTS", 400, "Já existe uma campanha com este nome. Escolha outro nome.",
        _same_name_twice),
    Refusal("CAMPAIGN_TEMPLATE_NOT_FOUND", 404, "O modelo de mensagem escolhido para a campanha não foi encontrado.",
        _create(templateId="nobodys"), {"template-not-found-code": "campaign-template"}),
    Refusal("CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH", 400,
        "Modelos oficiais só podem ser usados nas plataformas chatapp e photoapp.",
        _create(templateId="template_official", platform="chatapp_lite")),
    Refusal("CAMPAIGN_INVALID_FILTERS", 422, "O filtro chat.isAnswered usa um operador ou valor incompatível.",
        _filtered("chat.isAnswered", "contains", True)),
    Refusal("CAMPAIGN_NOT_DRAFT", 422, "Somente campanhas em rascunho podem ser iniciadas.", _after_the_end("start")),
    Refusal("CAMPAIGN_ALREADY_PROCESSING", 422,
        "A campanha já está em execução. Aguarde o término ou cancele a execução atual.", _start_again),
    Refusal("CAMPAIGN_MISSING_COMMON_VARIABLES", 400, "Preencha as variáveis obrigatórias do modelo: var1.",
        _start_of(templateId="template_coupon")),
    Refusal("CAMPAIGN_SIZE_LIMIT_EXCEEDED", 422,
        "O público tem 3 conversas e o limite estimado para 24 horas é 2. Ajuste os filtros.",
        _start_of(), {"size-limit-values": {"chatapp": 2}}),
    Refusal("MESSAGE_TEMPLATE_NOT_FOUND", 404, "Modelo de mensagem não encontrado.",
        _get("/v1/message-templates/nobodys")),
    Refusal("RATE_LIMIT_EXCEEDED", 429, "Muitas requisições em pouco tempo. Aguarde alguns segundos e tente novamente.",
        _twice_within_a_minute, {"rate-limit-numbers": {"requests": 1, "per": 60}}),
)
# fmt: on
