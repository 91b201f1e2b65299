"""One call by the generated client: prints how many templates there are."""

import os

from client.api.templates import list_templates  # type: ignore[import-not-found]
from client.client import Client  # type: ignore[import-not-found]

client = Client(base_url=os.environ["BASE_URL"], headers={"X-API-Key": os.environ["API_KEY"]})
print(len(list_templates.sync(client=client).templates))
