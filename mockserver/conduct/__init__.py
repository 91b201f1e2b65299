"""The conduct report: what a client did against the API document's advice, with the calls that prove it."""
