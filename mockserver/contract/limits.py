"""The document's numbers, each with its unit; numbers that the document leaves open are choices, not limits."""

from __future__ import annotations

from datetime import timedelta

# The schemas of bodies have the same bounds, which a test compares.
CADENCE_MAX_PER_MINUTE = 2**53 - 1  # campaigns.cadence: the largest integer that is exact in JavaScript
CAMPAIGN_NAME_MAX_CHARS = 100
CAMPAIGN_DESCRIPTION_MAX_CHARS = 2000
RETURN_URL_MAX_CHARS = 2000
SESSION_LIFETIME = timedelta(minutes=20)  # session.expires-at

# Bounds of the mock itself, so that no call can exhaust the machine; the document sets none.
JSON_BODY_MAX_BYTES = 1024 * 1024
JSON_DEPTH_MAX = 64
DOCUMENT_DEPTH_MAX = JSON_DEPTH_MAX + 8  # a body within its own bound is some levels deep in the document of a run
YAML_MAX_CHARS = 128 * 1024  # of a document that is not JSON, whose parser takes 20 us for a character
JSON_VALUES_MAX = 10_000  # elements and members in a body of the public API
DIGITS_MAX = 640  # of an int, which every setting of the interpreter reads and formats (sys.set_int_max_str_digits)
FILTER_ENTRIES_MAX = 1_000  # groups and statements together
FIRINGS_MAX = 10  # effects of one rule on the state that its entry shows
RULES_MAX = 2_000  # of a sandbox; each call may have to evaluate all of them
PROBLEMS_MAX = 100  # explained problems of one value
UPLOAD_MAX_BYTES = 256 * 1024 * 1024
UPLOAD_OTHER_PARTS_MAX = 100  # in addition to the files (choice `media-max-files`)
PART_HEAD_MAX_BYTES = 4 * 1024  # of one part of an upload
PAGE_LIMIT_DEFAULT = 50  # fixed decision `message-page-params`
PAGE_LIMIT_MAX = 100
JOURNAL_MAX_ENTRIES = 10_000  # of exchanges, and of transitions; a server may set another
JOURNAL_MAX_BYTES = 64 * 1024 * 1024  # of exchanges and commands together; a server may set another
JOURNAL_BODY_MAX_BYTES = 64 * 1024  # of one request's body
JOURNAL_ANSWER_MAX_BYTES = 1024 * 1024  # of one response body
HEAD_LINE_MAX_BYTES = 8 * 1024  # of a request line, and of a header (choice `head-bounds`)
HEAD_HEADERS_MAX = 100
FORM_BODY_MAX_BYTES = 16 * 1024  # of the hosted page
VISIT_TEXT_MAX_CHARS = 500
WEBHOOK_TIMEOUT_SECONDS = 15.0  # fixed decision `wh-timeout`
ADVANCES_MAX_DEPTH = 20  # depth of rules that advance the clock during another one's advance

# For the reason of a refusal by one of the bounds above.
OWN_BOUND = "the mock's own bound; the document sets none"


def own_bound(choice: str) -> str:
    """Return the remark for a refusal by an invented number, which this choice sets."""
    return f"the mock's own bound, settable by the choice {choice}"
