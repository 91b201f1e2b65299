"""The OpenAPI document of the public API, generated from the tables of the contract and the schemas."""
