"""Calls of each operation by the generated client: prints what each answer says."""

# mypy: ignore-errors

import os
from io import BytesIO
from pathlib import Path

from client.api.audiences import preview_audience, read_filter_schema
from client.api.campaigns import (
    cancel_campaign,
    create_campaign,
    list_campaigns,
    read_campaign,
    read_execution,
    start_campaign,
)
from client.api.connection_sessions import create_connection_session, read_connection_session
from client.api.entrypoints import read_entrypoint
from client.api.forms import read_form_policy
from client.api.messaging import list_messages, upload_media
from client.api.templates import list_templates, read_template
from client.client import Client
from client.models import CampaignPlatform, CreateCampaignRequest, StartCampaignRequest, UploadMediaBody
from client.types import File

env = os.environ
client = Client(base_url=env["BASE_URL"], headers={"X-API-Key": env["API_KEY"]})
print("listTemplates", len(list_templates.sync(client=client).templates))
print("readTemplate", read_template.sync(env["TEMPLATE"], client=client).id)
print("readFilterSchema", len(read_filter_schema.sync(client=client).fields))
print("previewAudience", preview_audience.sync(client=client).estimated_count)
draft = CreateCampaignRequest(
    name="Generated", platform=CampaignPlatform("chatapp"), template_id=env["TEMPLATE"], cadence=30
)
created = create_campaign.sync(client=client, body=draft)
print("createCampaign", created.status.value)
variables = StartCampaignRequest.from_dict({"commonVariables": {"var3": "31/03"}})
print("startCampaign", start_campaign.sync(created.campaign_id, client=client, body=variables).status.value)
cancel_campaign.sync_detailed(created.campaign_id, client=client)
print("cancelCampaign")
print("listCampaigns", len(list_campaigns.sync(client=client).campaigns))
for id in env["CAMPAIGNS"].split():
    read = read_campaign.sync(id, client=client)
    print("readCampaign", read.status.value)
    for execution in read.executions:
        print("readCampaign.execution", execution.status.value)
        print("readExecution", read_execution.sync(id, execution.id, client=client).status.value)
print("createConnectionSession", create_connection_session.sync(client=client).status.value)
for id in env["SESSIONS"].split():
    print("readConnectionSession", read_connection_session.sync(id, client=client).status.value)
print("readEntrypoint", read_entrypoint.sync(env["ENTRYPOINT"], client=client).entrypoint.id)
print("listMessages", len(list_messages.sync(env["CHAT"], client=client, limit=5).records))
file = File(BytesIO(Path(env["FILE"]).read_bytes()), "prices.txt", "text/plain")
print("uploadMedia", "stored" if upload_media.sync(client=client, body=UploadMediaBody(files=[file])) else "")
print("readFormPolicy", len(read_form_policy.sync(env["FORM"], client=client).iframe_embed_allowed_origins))
