"""Points that the document leaves open on connection sessions: reading them, their end, their link and their return."""

from typing import Final

from mockserver.contract.choices.model import Choice, Fixed

FAMILY: Final = "sessions"

# fmt: off
CHOICES: Final[tuple[Choice, ...]] = (
    Choice("session-unknown-code", FAMILY, "Which code does an unknown session get?",
           "L323", ("resource-not-found", "entrypoint-not-found"), "resource-not-found",
           "No code is about sessions, and a session is not yet an entrypoint.", "inferred", ("session.read",)),
    Choice("session-read-fields", FAMILY, "Does a read session also show its url and expiresAt?",
           "L323, L133-141", ("literal", "all"), "literal",
           "The endpoint lists its fields, and these two are not among them.", "documented", ("session.read",)),
    Choice("reason-when-none", FAMILY, "How does a session without a reason show it?",
           "L140", ("absent", "null"), "absent",
           "The field belongs to a failure and is not called nullable.", "inferred", ("session.read",)),
    Choice("entrypoint-when-failed", FAMILY, "How does a failed or expired session show its entrypoint?",
           "L139", ("null", "absent"), "null",
           "The field is nullable, and there is no channel to show.", "inferred", ("session.read",)),
    Choice("funnelId-alone", FAMILY, "Which code does a funnelId without its step get?",
           "L313, L319, L407", ("validation-error", "invalid-request"), "validation-error",
           "It is the only 400 that the endpoint lists.", "documented", ("session.funnel-pair",)),
    Choice("funnel-checked-when", FAMILY, "When are the funnel and its step checked?",
           "L152", ("completion", "creation"), "completion",
           "The reason funnel_not_found is about that time.", "documented", ("session.funnel-checked-late",)),
    Choice("user-cancels", FAMILY, "What happens to a session whose end user cancels?",
           "L150, L217", ("failed", "pending"), "failed",
           "A cancellation is listed under token_exchange_failed; a closed tab is not noticed, and the session waits.", "documented",
           ("session.user-cancels",)),
    Choice("expiry-driver", FAMILY, "What makes a session expire?",
           "L217", ("timer", "sweeper", "on-read"), "timer",
           "The twenty minutes are the only condition.", "documented", ("session.expired",)),
    Choice("state-vs-event-order", FAMILY, "Can the end of a session be read before its event is sent?",
           "L323, L372", ("state-first", "event-first"), "state-first",
           "A receiver that reads immediately should get the state of the event.", "inferred",
           ("session.completed",)),
    Choice("link-consumed-when", FAMILY, "What uses up the one-use link?",
           "L137", ("continue", "first-get", "completion"), "continue",
           "Previews and scanners open links without meaning to use them, and do not press the button.", "inferred",
           ("session.url",)),
    Choice("return-on-failure", FAMILY, "Where does the end user go after a failure?",
           "L315", ("stay", "return-with-error"), "stay",
           "The return is documented for success alone, so the flow ends on the hosted page.", "documented",
           ("session.return",)),
    Choice("return-query", FAMILY, "What is appended to the returnUrl?",
           "L315", ("nothing", "session-and-status"), "nothing",
           "No parameter is documented; the url's own query stays.", "documented", ("session.return",)),
)

FIXED: Final[tuple[Fixed, ...]] = (
    Fixed("session-other-tenant", FAMILY, "as cross-tenant-code", "One rule holds for every resource."),
    Fixed("body-missing", FAMILY, "treated as {}", "Every field is optional."),
    Fixed("return-url-rules", FAMILY,
          "https with a host and no user, no space or backslash, and a url that the WHATWG URL standard can parse; any "
          "port, IP address, localhost and fragments are allowed",
          "The document forbids other schemes and user or password; the standard defines the urls a browser can open."),
    Fixed("return-url-spelling", FAMILY, "as sent; one beyond ASCII as the URL standard serializes it, in Punycode",
          "A Location header is ASCII, and a browser would write it so."),
    Fixed("link-after-use", FAMILY, "410 with one Portuguese page for used, expired and unknown links",
          "A stranger learns nothing from it."),
    Fixed("expiry-boundary", FAMILY, "expired at expiresAt itself", "The deadline has then passed."),
    Fixed("flow-open-at-deadline", FAMILY, "it expires", "No grace period is mentioned."),
    Fixed("sessions-in-parallel", FAMILY, "any number", "No limit is mentioned."),
    Fixed("same-number-again", FAMILY, "phone_in_use, also for an active number of the same tenant",
          "A number is linked once."),
    Fixed("phone-numbers", FAMILY,
          "as dialled in the tenant's country, Brazil unless seed data names another, or with + and a country code",
          "The service is Brazilian, and its users type numbers as they dial them."),
    Fixed("two-sessions-one-number", FAMILY, "the first succeeds, the second is phone_in_use", "A number is linked once."),
    Fixed("event-before-202-read", FAMILY, "only by a scenario", "Completion may overtake the answer on the wire.",
          "effect"),
    Fixed("session-retention", FAMILY, "for ever", "No end is mentioned."),
    Fixed("url-shape", FAMILY, "{base}/connect/{token}, an unguessable token that is not the sessionId",
          "The url is sensitive, and differs from the stable id."),
    Fixed("coexistence-failures", FAMILY, "the same reasons", "No others are listed."),
)
