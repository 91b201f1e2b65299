"""The tester's face: fixtures and in-process transports."""
