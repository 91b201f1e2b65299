"""
The 39 error codes of the API, with their Portuguese messages.

1. A code is one row of `ERRORS`; the code is stable, the text of its message is not.
2. `status` is the error catalogue's. `in_guide` is the campaign guide's, where that disagrees: for four codes.
3. `message` and `reworded` have the same meaning and placeholders, and share no word of four letters or more: a client
   that recognises an error by its text fails under one of them.
4. `clause` is the clause of `clauses.yaml` that describes the code best.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class ErrorRow(NamedTuple):
    """
    One error code: its statuses, its two texts and its clause.

    The texts hold `str.format` placeholders, filled in with the details of the refusal:
    `{path}` and `{field}` name what is wrong, `{name}` is a file's name, `{keys}` a list of variables,
    `{max}`, `{target}` and `{limit}` are amounts, with their unit if they have one.
    """

    code: str
    status: int
    message: str
    reworded: str
    clause: str = "base.error-catalog"
    in_guide: int | None = None

    @property
    def guide_status(self) -> int:
        """The status in the campaign guide, which differs from the catalogue's for four codes."""
        return self.status if self.in_guide is None else self.in_guide

    def status_of(self, path: str, choices: Mapping[str, object]) -> int:
        """Return the status at a path: the catalogue's, or the campaign guide's by `dual-status`."""
        is_of_guide = path.startswith("/v1/campaigns") and choices["dual-status"] == "guide"
        return self.guide_status if is_of_guide else self.status


# fmt: off
_ROWS = (
    # code                                      catalogue
    ErrorRow("API_KEY_MISSING",                     401, clause="auth.header",
        message="Informe a chave de API no cabeçalho X-API-Key.",
        reworded="Falta a credencial de acesso; preencha o header X-API-Key."),
    ErrorRow("API_KEY_INVALID",                     401, clause="auth.unknown",
        message="A chave de API informada não é válida.",
        reworded="Não reconhecemos esta credencial. Confira o segredo copiado do painel."),
    ErrorRow("API_KEY_WRONG_TYPE",                  401, clause="auth.secret-only",
        message="Este endpoint não aceita o tipo de chave enviado. Use a chave secreta da organização.",
        reworded="Credencial incompatível com a rota chamada. Troque a pública pela privada."),
    ErrorRow("DEVELOPERS_DISABLED",                 401, clause="auth.developers-disabled",
        message="O ambiente de desenvolvedores não está habilitado para esta organização.",
        reworded="Ative o modo developer nas configurações da empresa antes de usar a API."),
    ErrorRow("SUBSCRIPTION_INACTIVE",               403, clause="auth.subscription",
        message="A assinatura da organização não está ativa. Regularize o plano para continuar.",
        reworded="Contrato suspenso, cancelado ou inexistente. Reative o pacote comercial."),
    ErrorRow("LEAD_LIMIT_EXCEEDED",                 403,
        message="O limite de leads do plano contratado foi atingido.",
        reworded="Não há mais vagas para novos contatos na assinatura vigente."),
    ErrorRow("FORM_INACTIVE",                       403,
        message="Este formulário está desativado.",
        reworded="O questionário não recebe envios no momento."),
    ErrorRow("RESOURCE_ACCESS_DENIED",              403, clause="auth.denied",
        message="Você não tem permissão para acessar este recurso.",
        reworded="Operação recusada: o item pertence a outra empresa ou exige mais direitos."),
    ErrorRow("ENTRYPOINT_NOT_FOUND",                404, clause="entrypoints.read",
        message="Canal não encontrado.",
        reworded="Nenhum entrypoint corresponde ao id fornecido."),
    ErrorRow("FORM_NOT_FOUND",                      404, clause="forms.policy",
        message="Formulário não encontrado.",
        reworded="Nenhum questionário corresponde ao id fornecido."),
    ErrorRow("CHAT_NOT_FOUND",                      404, clause="messages.list",
        message="Conversa não encontrada.",
        reworded="Nenhum chat corresponde ao id fornecido."),
    ErrorRow("RESOURCE_NOT_FOUND",                  404, clause="base.unknown-path",
        message="O recurso solicitado não existe ou não está acessível.",
        reworded="Nada foi localizado neste endereço."),
    ErrorRow("FORM_ALREADY_SUBMITTED",              409,
        message="Este telefone já respondeu a este formulário.",
        reworded="Só uma resposta por número é permitida, e a deste contato foi registrada antes."),
    ErrorRow("VALIDATION_ERROR",                    400, in_guide=422, clause="campaigns.validation",
        message="Os dados enviados são inválidos. Verifique o campo {path}.",
        reworded="A requisição contém erro em {path}. Corrija o conteúdo antes de repetir a chamada."),
    ErrorRow("INVALID_PHONE",                       400,
        message="O telefone informado não é válido. Digite o número completo, com código do país e DDD.",
        reworded="Não conseguimos ler o contato digitado. Siga o formato internacional E.164."),
    ErrorRow("ENTRYPOINT_PLATFORM_UNSUPPORTED",     400,
        message="Esta operação não está disponível para a plataforma deste canal.",
        reworded="O entrypoint pertence a um serviço sem suporte a tal ação."),
    ErrorRow("PLATFORM_UNSUPPORTED",                400, clause="filters.invalid",
        message="O valor informado em platform não é aceito.",
        reworded="Filtro de plataforma desconhecido. Consulte as opções suportadas."),
    ErrorRow("FORM_MISSING_ENTRYPOINTS",            400,
        message="O formulário não tem nenhum canal de destino configurado.",
        reworded="Vincule ao menos um entrypoint ao questionário antes de publicar."),
    ErrorRow("FORM_INVALID_ANSWERS",                400,
        message="As respostas enviadas não correspondem às perguntas do formulário.",
        reworded="Há questões ausentes, repetidas, desconhecidas ou com opções fora da lista."),
    ErrorRow("FORM_INVALID_DESTINATION",            400,
        message="Os canais de destino do formulário são inválidos ou estão inacessíveis.",
        reworded="Revise os entrypoints vinculados ao questionário; algum deixou de funcionar."),
    ErrorRow("MEDIA_UPLOAD_EMPTY",                  400, clause="media.empty",
        message="Nenhum arquivo foi enviado. Anexe ao menos um arquivo no campo files.",
        reworded="O upload chegou vazio. Inclua algum documento ou imagem."),
    ErrorRow("MEDIA_UPLOAD_TOO_MANY_FILES",         400, clause="media.too-many",
        message="Envie no máximo {max} arquivos por requisição.",
        reworded="Itens demais no upload: cada chamada comporta até {max}."),
    ErrorRow("MEDIA_FILE_TOO_LARGE",                400, clause="media.too-large",
        message="O arquivo {name} ultrapassa o tamanho máximo de {max}.",
        reworded="Reduza {name}: só cabem {max} por item."),
    ErrorRow("MEDIA_INVALID_FORMAT",                400, clause="media.format",
        message="O formato do arquivo {name} não é aceito.",
        reworded="Não trabalhamos com o tipo de mídia de {name}."),
    ErrorRow("INVALID_REQUEST",                     400, clause="base.invalid-request",
        message="A combinação de parâmetros enviada não é permitida.",
        reworded="Os campos usados juntos entram em conflito. Reveja a chamada."),
    ErrorRow("UNPROCESSABLE_REQUEST",               422, clause="cancel.final",
        message="Não é possível executar esta operação no estado atual do recurso.",
        reworded="A ação pedida não cabe na situação em que o item se encontra."),
    ErrorRow("MESSAGE_CAMPAIGN_NOT_ALLOWED",        422,
        message="A API pública não permite associar mensagens a campanhas.",
        reworded="Retire do corpo a referência ao disparo em massa; integrações externas não podem usá-la."),
    ErrorRow("CAMPAIGN_NOT_FOUND",                  404, clause="campaigns.detail",
        message="Campanha não encontrada.",
        reworded="Nenhum disparo corresponde ao id fornecido."),
    ErrorRow("CAMPAIGN_NAME_ALREADY_EXISTS",        400, in_guide=422, clause="campaigns.name",
        message="Já existe uma campanha com este nome. Escolha outro nome.",
        reworded="Título repetido: mude a identificação do disparo."),
    ErrorRow("CAMPAIGN_TEMPLATE_NOT_FOUND",         404, clause="campaigns.template",
        message="O modelo de mensagem escolhido para a campanha não foi encontrado.",
        reworded="Não localizamos o template indicado em templateId."),
    ErrorRow("CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH", 400, in_guide=422, clause="campaigns.template-mismatch",
        message="Modelos oficiais só podem ser usados nas plataformas chatapp e photoapp.",
        reworded="Template homologado pelo provedor é incompatível com o canal selecionado."),
    ErrorRow("CAMPAIGN_INVALID_FILTERS",            422, clause="filters.invalid",
        message="O filtro {field} usa um operador ou valor incompatível.",
        reworded="A condição sobre {field} não faz sentido. Consulte o catálogo de critérios."),
    ErrorRow("CAMPAIGN_NOT_DRAFT",                  422, clause="start.not-draft",
        message="Somente campanhas em rascunho podem ser iniciadas.",
        reworded="Este disparo já saiu da fase de preparação."),
    ErrorRow("CAMPAIGN_ALREADY_PROCESSING",         422, clause="start.already",
        message="A campanha já está em execução. Aguarde o término ou cancele a execução atual.",
        reworded="Há um disparo rodando agora. Espere o fim ou interrompa antes de recomeçar."),
    ErrorRow("CAMPAIGN_MISSING_COMMON_VARIABLES",   400, in_guide=422, clause="start.missing-variables",
        message="Preencha as variáveis obrigatórias do modelo: {keys}.",
        reworded="Faltam valores exigidos pelo template: {keys}."),
    ErrorRow("CAMPAIGN_SIZE_LIMIT_EXCEEDED",        422, clause="start.size",
        message="O público tem {target} conversas e o limite estimado para 24 horas é {limit}. Ajuste os filtros.",
        reworded="Audiência grande demais: {target} destinatários, teto diário de {limit}. Restrinja os critérios."),
    ErrorRow("MESSAGE_TEMPLATE_NOT_FOUND",          404, clause="templates.unknown",
        message="Modelo de mensagem não encontrado.",
        reworded="Nenhum template corresponde ao id fornecido."),
    ErrorRow("RATE_LIMIT_EXCEEDED",                 429, clause="base.rate-limit",
        message="Muitas requisições em pouco tempo. Aguarde alguns segundos e tente novamente.",
        reworded="Ritmo de chamadas acima do permitido. Espere um momento antes de repetir."),
    ErrorRow("INTERNAL_ERROR",                      500, clause="base.internal",
        message="Ocorreu um erro inesperado. Tente novamente em instantes.",
        reworded="Falha interna do servidor. Repita a chamada mais tarde."),
)
# fmt: on

ERRORS: Mapping[str, ErrorRow] = MappingProxyType({row.code: row for row in _ROWS})

# A session's reason -> its `message`, canonical and reworded.
# fmt: off
SESSION_MESSAGES: Mapping[str, tuple[str, str]] = MappingProxyType({
    "expired": (
        "O link de conexão expirou antes da conclusão. Gere um novo link.",
        "O prazo terminou sem que o vínculo fosse feito. Comece outra vez.",
    ),
    "token_exchange_failed": (
        "O provedor não concluiu a autorização. Inicie uma nova conexão.",
        "A troca de credenciais falhou ou foi cancelada. Tente vincular outra vez.",
    ),
    "phone_in_use": (
        "Este número já está vinculado a outra conta ou a outro canal.",
        "O telefone pertence a um cadastro diferente. Libere a linha antes de prosseguir.",
    ),
    "funnel_not_found": (
        "O funil ou a etapa informada não existe mais nesta organização.",
        "A posição escolhida no processo comercial foi removida. Selecione um destino válido.",
    ),
})
# fmt: on
# The reasons of a failed session; one that expired has its own.
FAILURE_REASONS = tuple(reason for reason in SESSION_MESSAGES if reason != "expired")
