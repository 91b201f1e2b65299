"""Everything between the network and the core: HTTP, the public API, hosted sandboxes, control plane, webhooks, hosted page."""
