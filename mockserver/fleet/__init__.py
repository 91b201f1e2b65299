"""A fleet: several server processes behind an existing proxy, each the owner of its sandboxes."""
