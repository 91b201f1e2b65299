"""What a service does by its public API alone: calls to it (`mockserver probe`), and the judges of any recording of calls."""
