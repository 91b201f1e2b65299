"""Texts of the control plane's document: its introduction, and what a summary leaves open about a command."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

INTRODUCTION: Final = """\
Everything that a test controls: time, data, behaviour, faults and evidence of one sandbox, and the sandboxes of the server.

Begin a test with `createSandbox`. Paths are relative to the `baseUrl` of a sandbox, its path included: the API is at `{baseUrl}/v1/...`, the commands are at `{baseUrl}/_mock/...`. The server's own address is the `baseUrl` of its default sandbox.

A refusal changes nothing; its message states what was received, what is expected, and the nearest valid name. A path that no command has is refused with 404 `MOCK_NOT_FOUND`, another method of a path with 405 `MOCK_WRONG_METHOD`. A refusal of the API has the header `X-Mock-Reason`, which names the clause that was broken, where, and what was expected.
"""

_ENDS: Final = (
    " The session sends its event; the response follows the delivery, so that a test may assert on its receiver, "
    "unless the query has `wait=false`."
)
DESCRIPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "createSandbox": "A sandbox has its own data, keys, clock, rules and journal. Send the calls of the API to its `baseUrl` with its `secretKey`, which only this answer has whole. Without `scenario` and `given` it has no data; without `clock` it is frozen as the server is (`serve --freeze`), or follows the process's clock; without `seed` it has one of its own, the same in each run.",
        "deleteSandbox": "Calls that arrive after that are refused with 410.",
        "reset": "Data, ids, keys, rules, journal and clock are those of its creation again.",
        "setClock": "A frozen clock moves only by commands and effects. The response follows what is due at the new time, unless the query has `wait=false`.",
        "advanceClock": "What is due on the way happens in its order: sends, expiries, effects and deliveries. The body has one of `by`, `to` and `until`.",
        "choose": "A choice is the answer to an open point of the API document.",
        "applyScenario": "Adds the data of `given` and the rules of `script`, and sets `choices`. A rule has one of `on` (a call), `at` (a time) and `after` (progress), and in `do` the effects, such as faults.",
        "listRules": "With the number of calls that each matched, and of its firings.",
        "restoreCheckpoint": "A checkpoint may be restored any number of times.",
        "readState": "Of each tenant the first chats, `chats` of them from `chatsFrom` on.",
        "readJournal": "The oldest first; `last` has the newest, in the same order.",
        "verifyJournal": "`where` compares values of the call by path, such as `body.name`; if the count is not the expected one, `nearest` has the calls that come closest.",
        "readReport": "Print it when a test fails: as text, or as JSON if `Accept` prefers it. `failure` puts the test's own words first.",
        "readReplay": "For `mockserver replay FILE`, which sends the same calls to a new sandbox. It has no key.",
        "completeSession": "`phone` is the number that the end user connects, `name` that of the entrypoint; both have defaults."
        + _ENDS,
        "failSession": "The reason is one of those of the API document." + _ENDS,
        "cancelSession": "As on the hosted page." + _ENDS,
        "expireSession": "As after twenty minutes." + _ENDS,
        "redeliverEvent": "To each endpoint where its delivery has ended. The response follows the new deliveries.",
        "createWebhook": "The answer has the signing secret, which no other view shows whole. Requests are signed as the webhooks of the public document describe.",
        "recoverWebhook": "In the order of the events. The response follows their delivery, unless the query has `wait=false`.",
        "rotateWebhook": "Until the next rotation, requests have a signature with the former secret too.",
    }
)
