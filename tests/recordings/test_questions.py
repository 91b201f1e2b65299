"""Each question shows the choices that its row names, and has the effect that its row states."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from mockserver import MockServer, Sandbox
from mockserver.contract.choices import CHOICES
from mockserver.judge.choices.learning import NOT_LEARNT, learn
from mockserver.judge.choices.questions import QUESTIONS, Question, questions
from tests.recordings.lives import SESSIONS, Tour, recorded

RUNNING = "campaign_past_running"


class Asker(Tour):
    """A client that asks one question, after reads that show the records in it."""

    def ask(self, question: Question) -> None:
        """Make the call, its placeholders filled in."""
        method, _, path = question.call.partition(" ")
        for word, id in {
            "CAMPAIGN": "campaign_past_failed", "COMPLETED": "campaign_past_completed", "CANCELED": "campaign_past_canceled",
            "CHAT": "chat_helena", "ENTRYPOINT": "entrypoint_robo", "RUNNING": RUNNING, "SESSION": "",
        }.items():  # fmt: skip
            if word == "RUNNING" and word in path:
                id = self.create("running", cadence=1)
                self.start(id)
            if word == "SESSION" and word in path:
                id = self.call("POST", SESSIONS, {})["sessionId"]
                self.sandbox.complete_session(id) if "entrypoint-two-shapes" in question.choices else None
            path = path.replace(f"/{word}", f"/{id}")
        for status in ("COMPLETED", "CANCELED", "RUNNING"):
            if status in question.call:
                self.read(path.split("/")[3])
        headers = {"Content-Type": "application/json"} if question.is_empty_json else {}
        self.call(method, path, question.body, headers=headers)
        if "RUNNING" in question.call:
            self.read(path.split("/")[3])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question.call}-{question.choices[0]}")
def test_a_question_shows_the_choices_that_it_names(
    mockserver_server: MockServer, tmp_path: Path, question: Question
) -> None:
    """Some option of each is excluded under some option."""

    def ask(sandbox: Sandbox) -> None:
        Asker(sandbox, Random(0)).ask(question)

    shown: set[str] = set()
    for choice in question.choices:
        for option in CHOICES[choice].options:
            chosen = {choice: option}
            if choice == "filter-error-split" and question.body == {"filters": []}:
                chosen["filters-empty-list"] = "reject"
            rows = learn(recorded(mockserver_server, chosen, tmp_path, ask))
            shown |= {row.id for row in rows if row.options and len(row.options) < len(CHOICES[row.id].options)}
    missing = set(question.choices) - shown
    assert missing <= {"reason-when-none", "entrypoint-when-failed"}  # of a session in another state


@pytest.mark.parametrize(
    "question", [question for question in QUESTIONS if question.effect != "creates"], ids=lambda question: question.call
)
def test_a_safe_question_changes_nothing_under_any_option(mockserver_server: MockServer, question: Question) -> None:
    for choice in question.choices:
        for option in CHOICES[choice].options:
            with mockserver_server.sandbox("demo", choices={choice: option}) as sandbox:
                before = sandbox.state()
                method, _, path = question.call.partition(" ")
                if not any(word.isupper() and len(word) > 3 for word in path.split("/")):
                    sandbox.call(method, path, json=question.body, key=sandbox.secret_key)
                assert before == sandbox.state()


def test_what_is_settled_is_not_asked_again(mockserver_server: MockServer, tmp_path: Path) -> None:
    learnt = learn(recorded(mockserver_server, {}, tmp_path, lambda sandbox: Tour(sandbox, Random(0)).whole()))
    asked = {id for question in questions(learnt) for id in question.choices}

    assert set() == asked & {row.id for row in learnt if row.state == "settled"}


def test_no_question_is_about_a_choice_that_no_recording_shows() -> None:
    assert set() == {id for question in QUESTIONS for id in question.choices} & set(NOT_LEARNT)
