"""Coverage of the contract by the calls of a client: what they have met, and what they have not."""
