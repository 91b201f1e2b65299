"""Runs of a test again and again, each controlled: with one fault, or in one order of its clients' calls."""
