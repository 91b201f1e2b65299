"""What the API document says, and what the mock says where the document is silent: data, no behaviour."""
