"""What a request and an answer of the API look like: routing, parsing, formats, serializers."""
