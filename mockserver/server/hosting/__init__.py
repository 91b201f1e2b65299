"""Many sandboxes behind one address, their clocks and background work."""
