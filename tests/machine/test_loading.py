"""What the strategies load, and when."""

import subprocess
import sys

FIRST_EXAMPLE = """
import sys
import mockserver.testing.strategies
from mockserver import MockServer

before = set(sys.modules)
with MockServer() as server, server.sandbox(given={"templates": [{"id": "template_hello"}]}) as sandbox:
    sandbox.base_url
    sandbox.call("POST", "/v1/campaigns/audience-preview", json={})
loaded = {each.partition(".")[0] for each in set(sys.modules) - before}
print(sorted(loaded & {"mockserver", "flask", "werkzeug", "jinja2", "jsonschema", "jsonschema_rs", "ruamel"}))
"""


def test_the_first_example_loads_nothing_and_meets_the_deadline_of_the_others() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_EXAMPLE], capture_output=True, encoding="utf-8", check=True)

    assert "[]\n" == done.stdout
