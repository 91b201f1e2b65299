"""Points that the document leaves open on webhooks: signing, retries, order, bodies and endpoints."""

from typing import Final

from mockserver.contract.choices.model import Choice, Fixed

FAMILY: Final = "events"

# fmt: off
CHOICES: Final[tuple[Choice, ...]] = (
    Choice(id="wh-signature", family=FAMILY, question="How are webhooks signed?",
           where="L374", options=("standard-webhooks", "svix", "stripe", "hub-sha256", "unsigned"), default="standard-webhooks",
           why="A portal with groups of events suggests a service that signs so.", provenance="inferred", clauses=("events.subscribed",)),
    Choice(id="wh-timestamp", family=FAMILY, question="Whose present is the timestamp of a signed request?",
           where="L374", options=("process-clock", "sandbox-clock"), default="process-clock",
           why="Verifiers compare it with the clock of their own process; one that has the sandbox's clock takes the other.",
           provenance="inferred", clauses=("events.subscribed",)),
    Choice(id="wh-body-bytes", family=FAMILY, question="How is the JSON of an event written?",
           where="L362", options=("compact", "escaped", "spaced", "reordered-keys"), default="compact",
           why="It is what a JavaScript service writes.", provenance="inferred", clauses=("events.connected",),
           means={"escaped": "\\u escapes beyond ASCII",
                  "spaced": "a space after each comma and colon",
                  "reordered-keys": "the keys of each object in reverse"}),
    Choice(id="wh-retry", family=FAMILY, question="When is an event sent again that was not accepted?",
           where="L374", options=("svix", "two-short", "none", "three-days"), default="svix",
           why="It is the schedule of the service that the portal suggests.",
           provenance="inferred", clauses=("events.nothing-lost", "events.subscribed"),
           means={"svix": "after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h",
                  "two-short": "after 5 s and 30 s",
                  "three-days": "after 1 min, 10 min, 1 h, 3 h, 6 h, 12 h, 24 h and 24 h"}),
    Choice(id="wh-idempotency", family=FAMILY, question="Which id do the attempts at an event have?",
           where="L374", options=("same-per-event", "new-per-try", "none"), default="same-per-event",
           why="The specification of that signing scheme requires it, and a receiver can then recognise a repetition.", provenance="inferred",
           clauses=("events.subscribed",),
           means={"none": "no header with an id"}),
    Choice(id="wh-no-endpoint", family=FAMILY, question="What happens to an event that no endpoint accepts?",
           where="L362", options=("dropped", "stored"), default="dropped",
           why="Reading the session is the fallback.", provenance="inferred", clauses=("events.subscribed",)),
    Choice(id="wh-secret-rotation", family=FAMILY, question="For how long after a rotation does the former secret sign in addition to the new one?",
           where="L374", options=("one-day", "none", "until-next"), default="one-day",
           why="The service that the portal suggests does so; the length counts from the rotation, on the sandbox's clock.",
           provenance="inferred", clauses=("events.subscribed",), value="duration",
           means={"none": "the new one signs alone",
                  "until-next": "until the next rotation"}),
    Choice(id="wh-data-asymmetry", family=FAMILY, question="Does the event of a failure also have the keys of the connected one?",
           where="L366-367", options=("literal", "same-keys"), default="literal",
           why="Each event lists its own keys.", provenance="documented", clauses=("events.failed",)),
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
    Fixed(id="wh-duplicates", family=FAMILY, decision="once after a 2xx; again by a scenario", why="One event is emitted per final session.",
          kind="effect"),
    Fixed(id="wh-order", family=FAMILY, decision="the order of the events: later ones wait behind one that waits for its retry; a scenario can change it",
          why="Each event is sent when it happens.", kind="effect"),
    Fixed("wh-several-endpoints", FAMILY, "each endpoint of the group or kind gets every event",
          "Registrations are independent."),
    Fixed("wh-disable", FAMILY, "never, except after 410", "No such rule is mentioned."),
    Fixed(id="wh-unknown-kind", family=FAMILY, decision="never; by a scenario", why="No other kind is shown.", kind="effect"),
    Fixed(id="wh-latency", family=FAMILY, decision="none; by a scenario", why="Events are the main channel for the result.", kind="effect"),
    Fixed("wh-inactive-tenant", FAMILY, "still sent", "The rule of the subscription is about calls."),
    Fixed("wh-secret-form", FAMILY,
          "of standard-webhooks and svix: base64, after `whsec_` or alone; of the other schemes any text, whose bytes are the key",
          "Libraries of these schemes decode it so. A text that another scheme took before `wh-signature` changed is the key itself."),
    Fixed("wh-http-target", FAMILY, "http is allowed for loopback and for hosts that were allowed by name",
          "Tests receive on their own machine."),
)
