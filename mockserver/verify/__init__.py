"""`mockserver verify`: compare any service with the contract: through its public API alone, or by a recording of its calls."""
