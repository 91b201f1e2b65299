"""Points that the document leaves open on webhooks: signing, retries, order, bodies and endpoints."""

from typing import Final

from mockserver.contract.choices.model import Choice, Fixed

FAMILY: Final = "events"

# fmt: off
CHOICES: Final[tuple[Choice, ...]] = (
    Choice("wh-signature", FAMILY, "How are webhooks signed?",
           "L374", ("standard-webhooks", "svix", "stripe", "hub-sha256", "unsigned"), "standard-webhooks",
           "A portal with groups of events suggests a service that signs so.", "inferred", ("events.subscribed",)),
    Choice("wh-timestamp", FAMILY, "Whose present is the timestamp of a signed request?",
           "L374", ("process-clock", "sandbox-clock"), "process-clock",
           "Verifiers compare it with the clock of their own process; one that has the sandbox's clock takes the other.",
           "inferred", ("events.subscribed",)),
    Choice("wh-body-bytes", FAMILY, "How is the JSON of an event written?",
           "L362", ("compact", "escaped", "spaced", "reordered-keys"), "compact",
           "It is what a JavaScript service writes.", "inferred", ("events.connected",),
           means={"escaped": "\\u escapes beyond ASCII",
                  "spaced": "a space after each comma and colon",
                  "reordered-keys": "the keys of each object in reverse"}),
    Choice("wh-retry", FAMILY, "When is an event sent again that was not accepted?",
           "L374", ("svix", "two-short", "none", "three-days"), "svix",
           "It is the schedule of the service that the portal suggests.",
           "inferred", ("events.nothing-lost", "events.subscribed"),
           means={"svix": "after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h",
                  "two-short": "after 5 s and 30 s",
                  "three-days": "after 1 min, 10 min, 1 h, 3 h, 6 h, 12 h, 24 h and 24 h"}),
    Choice("wh-idempotency", FAMILY, "Which id do the attempts at an event have?",
           "L374", ("same-per-event", "new-per-try", "none"), "same-per-event",
           "The specification of that signing scheme requires it, and a receiver can then recognise a repetition.", "inferred",
           ("events.subscribed",),
           means={"none": "no header with an id"}),
    Choice("wh-no-endpoint", FAMILY, "What happens to an event that no endpoint accepts?",
           "L362", ("dropped", "stored"), "dropped",
           "Reading the session is the fallback.", "inferred", ("events.subscribed",)),
    Choice("wh-secret-rotation", FAMILY, "For how long after a rotation does the former secret sign in addition to the new one?",
           "L374", ("one-day", "none", "until-next"), "one-day",
           "The service that the portal suggests does so; the length counts from the rotation, on the sandbox's clock.",
           "inferred", ("events.subscribed",), "duration",
           means={"none": "the new one signs alone",
                  "until-next": "until the next rotation"}),
    Choice("wh-data-asymmetry", FAMILY, "Does the event of a failure also have the keys of the connected one?",
           "L366-367", ("literal", "same-keys"), "literal",
           "Each event lists its own keys.", "documented", ("events.failed",)),
)

FIXED: Final[tuple[Fixed, ...]] = (
    Fixed("wh-clock", FAMILY, "occurredAt is of the sandbox's clock, under each option of wh-timestamp",
          "An event happens in the sandbox, and only the request is about the present of its receiver."),
    Fixed("wh-timeout", FAMILY, "15 seconds", "It is the limit of the service that the portal suggests."),
    Fixed("wh-success", FAMILY, "any 2xx; a redirect is a failure and is not followed",
          "The specification of that signing scheme requires it."),
    Fixed("wh-410-and-429", FAMILY,
          "410 disables the endpoint; 429 and timeouts wait a minute or more; Retry-After counts up to twice the wait",
          "The specification of that signing scheme advises it."),
    Fixed("wh-duplicates", FAMILY, "once after a 2xx; again by a scenario", "One event is emitted per final session.",
          "effect"),
    Fixed("wh-order", FAMILY, "the order of the events: later ones wait behind one that waits for its retry; a scenario can change it",
          "Each event is sent when it happens.", "effect"),
    Fixed("wh-several-endpoints", FAMILY, "each endpoint of the group or kind gets every event",
          "Registrations are independent."),
    Fixed("wh-disable", FAMILY, "never, except after 410", "No such rule is mentioned."),
    Fixed("wh-unknown-kind", FAMILY, "never; by a scenario", "No other kind is shown.", "effect"),
    Fixed("wh-latency", FAMILY, "none; by a scenario", "Events are the main channel for the result.", "effect"),
    Fixed("wh-inactive-tenant", FAMILY, "still sent", "The rule of the subscription is about calls."),
    Fixed("wh-secret-form", FAMILY,
          "of standard-webhooks and svix: base64, after `whsec_` or alone; of the other schemes any text, whose bytes are the key",
          "Libraries of these schemes decode it so. A text that another scheme took before `wh-signature` changed is the key itself."),
    Fixed("wh-http-target", FAMILY, "http is allowed for loopback and for hosts that were allowed by name",
          "Tests receive on their own machine."),
)
