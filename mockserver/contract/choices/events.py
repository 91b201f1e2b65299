"""What the document leaves open about webhooks: signing, retries, order, bodies and endpoints."""

from typing import Final

from mockserver.contract.choices.rows import LATER, Choice, Fixed

FAMILY: Final = "events"

# fmt: off
CHOICES: Final[tuple[Choice, ...]] = (
    Choice("wh-data-asymmetry", FAMILY, "Does the event of a failure carry the keys of the connected one too?",
           "L366-367", ("literal", "same-keys"), "literal",
           "Each event lists its own keys.", "documented", ("events.failed",)),
)

FIXED: Final[tuple[Fixed, ...]] = (
    Fixed("wh-signature", FAMILY, "Standard Webhooks, webhook-* headers",
          "A portal with groups of events suggests a service that signs so.", note=LATER),
    Fixed("wh-clock", FAMILY, "timestamps of the process's clock; occurredAt of the sandbox's",
          "Verifiers compare the timestamp with their own present.", note=LATER),
    Fixed("wh-body-bytes", FAMILY, "compact UTF-8", "It is what a JavaScript service writes.", note=LATER),
    Fixed("wh-retry", FAMILY, "after 5s, 5m, 30m, 2h, 5h, 10h and 10h, without jitter",
          "It is the schedule of the service that the portal suggests.", note=LATER),
    Fixed("wh-timeout", FAMILY, "15 seconds", "It is the limit of the service that the portal suggests.", note=LATER),
    Fixed("wh-success", FAMILY, "any 2xx; a redirect is a failure and is not followed",
          "The specification of that signing scheme says so.", note=LATER),
    Fixed("wh-410-and-429", FAMILY, "410 disables the endpoint; 429 and timeouts wait a minute or more",
          "The specification of that signing scheme advises it.", note=LATER),
    Fixed("wh-idempotency", FAMILY, "one webhook-id an event, on every attempt and endpoint",
          "A receiver can then tell a repetition.", note=LATER),
    Fixed("wh-duplicates", FAMILY, "once after a 2xx; again by a scenario", "One event is emitted a final session.",
          "effect", LATER),
    Fixed("wh-order", FAMILY, "the order of happening; another by a scenario", "Each event is sent when it happens.",
          "effect", LATER),
    Fixed("wh-no-endpoint", FAMILY, "dropped, kept in the journal", "Reading the session is the fallback.",
          note=LATER),
    Fixed("wh-several-endpoints", FAMILY, "each endpoint of the group gets every event",
          "Registrations are independent.", note=LATER),
    Fixed("wh-disable", FAMILY, "never, but for 410", "No such rule is mentioned.", note=LATER),
    Fixed("wh-unknown-kind", FAMILY, "never; by a scenario", "No other kind is shown.", "effect", LATER),
    Fixed("wh-latency", FAMILY, "none; by a scenario", "Events are the main channel for the result.", "effect", LATER),
    Fixed("wh-secret-rotation", FAMILY, "one signature; two by a scenario", "No rotation is mentioned.",
          "effect", LATER),
    Fixed("wh-inactive-tenant", FAMILY, "still sent", "The rule of the subscription is about calls.", note=LATER),
    Fixed("wh-http-target", FAMILY, "http is allowed for loopback", "Tests receive on their own machine.", note=LATER),
)
