"""
The table of error codes, held against a second transcription of the document's own table.

That each code really is answered is shown where the API is called, so nothing here is marked with a clause.
"""

from string import Formatter

from mockserver.contract.clauses import read
from mockserver.contract.errors import ERRORS, SESSION_MESSAGES
from tests.harness.codes import BY_CHOICE, INJECTED_ONLY

CATALOGUE = """
API_KEY_MISSING                     401
API_KEY_INVALID                     401
API_KEY_WRONG_TYPE                  401
DEVELOPERS_DISABLED                 401
SUBSCRIPTION_INACTIVE               403
LEAD_LIMIT_EXCEEDED                 403
FORM_INACTIVE                       403
RESOURCE_ACCESS_DENIED              403
ENTRYPOINT_NOT_FOUND                404
FORM_NOT_FOUND                      404
CHAT_NOT_FOUND                      404
RESOURCE_NOT_FOUND                  404
FORM_ALREADY_SUBMITTED              409
VALIDATION_ERROR                    400
INVALID_PHONE                       400
ENTRYPOINT_PLATFORM_UNSUPPORTED     400
PLATFORM_UNSUPPORTED                400
FORM_MISSING_ENTRYPOINTS            400
FORM_INVALID_ANSWERS                400
FORM_INVALID_DESTINATION            400
MEDIA_UPLOAD_EMPTY                  400
MEDIA_UPLOAD_TOO_MANY_FILES         400
MEDIA_FILE_TOO_LARGE                400
MEDIA_INVALID_FORMAT                400
INVALID_REQUEST                     400
UNPROCESSABLE_REQUEST               422
MESSAGE_CAMPAIGN_NOT_ALLOWED        422
CAMPAIGN_NOT_FOUND                  404
CAMPAIGN_NAME_ALREADY_EXISTS        400
CAMPAIGN_TEMPLATE_NOT_FOUND         404
CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH 400
CAMPAIGN_INVALID_FILTERS            422
CAMPAIGN_NOT_DRAFT                  422
CAMPAIGN_ALREADY_PROCESSING         422
CAMPAIGN_MISSING_COMMON_VARIABLES   400
CAMPAIGN_SIZE_LIMIT_EXCEEDED        422
MESSAGE_TEMPLATE_NOT_FOUND          404
RATE_LIMIT_EXCEEDED                 429
INTERNAL_ERROR                      500
"""


GUIDE_422 = {
    "CAMPAIGN_MISSING_COMMON_VARIABLES",
    "CAMPAIGN_NAME_ALREADY_EXISTS",
    "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH",
    "VALIDATION_ERROR",
}

# The codes that the catalogue lists and no rule of a documented endpoint leads to.
ORPHANS = """
LEAD_LIMIT_EXCEEDED FORM_INACTIVE FORM_ALREADY_SUBMITTED INVALID_PHONE ENTRYPOINT_PLATFORM_UNSUPPORTED
PLATFORM_UNSUPPORTED FORM_MISSING_ENTRYPOINTS FORM_INVALID_ANSWERS FORM_INVALID_DESTINATION
MESSAGE_CAMPAIGN_NOT_ALLOWED CAMPAIGN_TEMPLATE_NOT_FOUND INVALID_REQUEST INTERNAL_ERROR
"""

PLACEHOLDERS = {
    "VALIDATION_ERROR": {"path"},
    "MEDIA_UPLOAD_TOO_MANY_FILES": {"max"},
    "MEDIA_FILE_TOO_LARGE": {"name", "max"},
    "MEDIA_INVALID_FORMAT": {"name"},
    "CAMPAIGN_INVALID_FILTERS": {"field"},
    "CAMPAIGN_MISSING_COMMON_VARIABLES": {"keys"},
    "CAMPAIGN_SIZE_LIMIT_EXCEEDED": {"target", "limit"},
}

SESSION_REASONS = {"expired", "token_exchange_failed", "phone_in_use", "funnel_not_found"}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_the_codes_and_statuses_are_those_of_the_documents_catalogue() -> None:
    catalogue = {code: int(status) for code, status in map(str.split, CATALOGUE.strip().splitlines())}

    assert 39 == len(catalogue)
    assert list(catalogue.items()) == [(code, row.status) for code, row in ERRORS.items()]


def test_both_texts_of_a_code_have_the_same_placeholders() -> None:
    expected = {code: PLACEHOLDERS.get(code, set()) for code in ERRORS}

    assert expected == {code: placeholders(row.message) for code, row in ERRORS.items()}
    assert expected == {code: placeholders(row.reworded) for code, row in ERRORS.items()}


def test_a_code_names_an_existing_clause() -> None:
    clauses = {clause.id for clause in read()}

    assert set() == {row.clause for row in ERRORS.values()} - clauses


def test_the_orphans_of_the_document_are_injected_or_chosen() -> None:
    assert set(ORPHANS.split()) == INJECTED_ONLY | BY_CHOICE
    assert set() == INJECTED_ONLY & BY_CHOICE
    assert set(ERRORS) >= INJECTED_ONLY | BY_CHOICE


def test_every_reason_of_a_failed_session_has_its_texts() -> None:
    assert SESSION_REASONS == set(SESSION_MESSAGES)
    assert set() == {name for pair in SESSION_MESSAGES.values() for text in pair for name in placeholders(text)}


def test_the_campaign_guide_has_422_for_four_codes_and_agrees_on_the_others() -> None:
    differing = {code: row.guide_status for code, row in ERRORS.items() if row.guide_status != row.status}

    assert dict.fromkeys(GUIDE_422, 422) == differing
