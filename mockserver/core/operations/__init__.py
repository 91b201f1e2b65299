"""The sixteen operations of the API, and the order of checks before them."""
