"""State of a sandbox: records, tenants, rules, journal and outbox, as plain data with their indexes."""
