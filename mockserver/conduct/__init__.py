"""The conduct report: what a client did against the API document's advice, told from evidence only."""
