"""The API document as tables, and the mock's decisions for what the document leaves open; no behaviour."""
