"""The OpenAPI documents of both planes, as the server serves them and `mockserver openapi` prints them."""
