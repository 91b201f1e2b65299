"""Rules of a script, built in Python."""
