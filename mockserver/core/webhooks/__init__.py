"""Planning of webhook deliveries: which attempt is due, and what follows from its result; no I/O."""
