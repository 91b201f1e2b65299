"""What the calls of a suite have covered."""
