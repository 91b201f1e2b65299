"""Scripted rules at work: conditions, injection around a call or a delivery, and effects on the state."""
