"""The project's version, for its metadata and for `/_mock/health`."""

VERSION = "0.1.0"

# The forms of the documents that this version writes and reads; one without a version has form 1.
SCENARIO_VERSION = 1  # scenario documents, and those that repeat a run
REPORT_VERSION = 1  # reports as JSON: of a sandbox, of explorations, of recordings
