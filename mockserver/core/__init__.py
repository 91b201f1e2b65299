"""What the API does: plain data and pure functions over it, with no clock, thread, socket or framework."""
