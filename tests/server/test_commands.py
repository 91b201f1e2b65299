"""The commands of the control plane as a table: their ids, their names in documents, and their phases."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from mockserver.server.control.commands import CommandId
from mockserver.server.control.routes import COMMANDS, ROUTES, find_command

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
# By id: the name under which the history (`GET /_mock/steps`) and replay documents have the command. These are public.
RECORDED = {
    "setClock": "set_clock",
    "advanceClock": "advance",
    "choose": "choose",
    "applyScenario": "apply_scenario",
    "addRules": "add_rules",
    "removeRules": "remove_rules",
    "removeRule": "remove_rules",
    "setTenant": "set_tenant",
    "completeSession": "complete_session",
    "failSession": "fail_session",
    "cancelSession": "cancel_session",
    "expireSession": "expire_session",
    "failCampaign": "fail_campaign",
    "redeliverEvent": "redeliver",
    "createWebhook": "create_webhook",
    "recoverWebhook": "recover",
    "rotateWebhook": "rotate",
}


def test_each_command_is_in_the_table_once_under_its_id() -> None:
    assert list(get_args(CommandId)) == [route.id for route in ROUTES]
    assert len(ROUTES) == len(COMMANDS)
    assert len(ROUTES) == len({(route.method, route.path) for route in ROUTES})
    assert [] == [route.id for route in ROUTES if not re.fullmatch("[a-z]+([A-Z][a-z]+)*", route.id)]


def test_the_names_in_histories_and_replay_documents_never_change() -> None:
    assert RECORDED == {route.id: route.recorded for route in ROUTES if route.recorded}


def test_a_body_has_the_schema_of_its_command() -> None:
    named = {route.id: route.schema for route in ROUTES if route.schema}

    assert {name: f"control.{name}" for name in named} == named
    assert {file.stem for file in SCHEMAS.glob("control.*.json")} == set(named.values())


@pytest.mark.parametrize("name", ["advance", "advanceClock", "reset", "readState"])
def test_a_command_can_be_resolved_by_its_id_and_by_its_recorded_name(name: str) -> None:
    assert name in (find_command(name), COMMANDS[find_command(name)].recorded)


@pytest.mark.parametrize("name", ["advnce", "createSandbox"])
def test_no_command_of_a_sandbox_has_another_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"command: got '{name}'"):
        find_command(name)
