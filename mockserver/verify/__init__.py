"""`mockserver verify`: the contract, asked of any service by its public API alone, and what the service makes of the open points."""
