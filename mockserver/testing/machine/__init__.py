"""
A state machine that tests a client of the gateway: subclass `GatewayMachine`, add rules for what your client does.

    class Campaigns(GatewayMachine):
        conduct = ("duplicate-start", "blind-post-retry")

        def make_client(self):
            return MyClient(self.sandbox.requests_session(), self.sandbox.base_url, self.sandbox.secret_key)

        @rule(name=st.text(min_size=1))
        def launch(self, name):
            self.client.launch(name)

    def test_campaigns(mockserver_server):
        Campaigns.check(mockserver_server)
"""

from mockserver.testing.machine.faults import FAULTS, ON_CALLS, ON_DELIVERIES
from mockserver.testing.machine.machine import ConductError, GatewayMachine

__all__ = ["FAULTS", "ON_CALLS", "ON_DELIVERIES", "ConductError", "GatewayMachine"]
