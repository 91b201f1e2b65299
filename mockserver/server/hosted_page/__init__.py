"""The page behind a connection session's url."""
