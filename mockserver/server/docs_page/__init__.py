"""The page that shows an OpenAPI document, and sends its operations to the sandbox."""
