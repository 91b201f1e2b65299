"""Judges of the hosted page: how its link was opened, by whom, and how often."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mockserver.core.conduct.evidence import Evidence, numbers
from mockserver.core.conduct.records import Proof, Silence
from mockserver.core.instants import MINUTE
from mockserver.core.walks import Visit

_FRAMES = ("iframe", "frame", "embed", "object")
_SCANNER = re.compile(
    r"bot\b|bot/|slack|whatsapp|facebookexternalhit|skypeuripreview|preview|safelinks|scanner|crawler", re.IGNORECASE
)


def _looks(seen: Evidence, session_id: str) -> list[Visit]:
    return [each for each in seen.visits if each.session_id == session_id]


def _is_scanner(visit: Visit) -> bool:
    return _SCANNER.search(visit.user_agent or "") is not None


def iframe(seen: Evidence) -> Iterator[Proof]:
    for session, made in seen.sessions():
        framed = [each for each in _looks(seen, session.id) if each.sec_fetch_dest in _FRAMES]
        if framed:
            yield Proof(f"the page of {session.id} was opened in a frame (visit {framed[0].n})", (made.n,))


def popup_blocked(seen: Evidence) -> Iterator[Proof | Silence]:
    """Where scanners alone came there is no user in the run, and none whose popup could have been blocked."""
    if all(map(_is_scanner, seen.visits)):
        yield Silence("no user visited a hosted page")
        return
    for session, made in seen.sessions():
        if session.status == "expired" and not _looks(seen, session.id):
            yield Proof(f"{session.id} expired, and nobody had opened its page", (made.n,))


def preview_burns_link(seen: Evidence) -> Iterator[Proof]:
    creates = seen.of("createConnectionSession")
    for session, made in seen.sessions():
        looks = _looks(seen, session.id)
        burnt = looks and _is_scanner(looks[0]) and looks[0].status < 400
        met = [each for each in looks if each.status == 410 and not _is_scanner(each)]
        if burnt and met and not any(each.n > made.n and each.at >= met[0].at for each in creates):
            told = f"a scanner opened the link of {session.id} (visit {looks[0].n}), the user met 410 (visit {met[0].n}), and no session followed"
            yield Proof(told, (made.n,))


def link_shared_or_cached(seen: Evidence) -> Iterator[Proof]:
    for session, made in seen.sessions():
        looks = [each for each in _looks(seen, session.id) if not _is_scanner(each)]
        agents = list(dict.fromkeys(each.user_agent for each in looks))
        went_on = next((each for each in looks if each.method == "POST" and each.status < 400), None)
        late = [each for each in looks if went_on and each.status == 410 and each.at - went_on.at > MINUTE]
        if len(agents) > 1:
            second = next(each for each in looks if each.user_agent == agents[1])
            yield Proof(f"two user agents opened the page of {session.id} (visits {looks[0].n}, {second.n})", (made.n,))
        elif late and session.status in ("pending", "completed"):
            told = f"the link of {session.id} was opened again a minute after it had been used (visit {late[0].n})"
            yield Proof(told, numbers((made, *seen.reads(session.id)[:1])))
