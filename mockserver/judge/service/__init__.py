"""Whether a service keeps the sentences of the API document."""
