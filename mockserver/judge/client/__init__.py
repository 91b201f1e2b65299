"""The rules of conduct: what a client should have done instead."""
