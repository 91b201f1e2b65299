"""Findings as text, JSON and pages."""
