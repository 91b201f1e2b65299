"""The report of a sandbox: the most likely cause of a failure, and everything that happened."""
