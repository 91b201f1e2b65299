"""The report of a failed Python test: its exception, its views, and a document that repeats the run."""
