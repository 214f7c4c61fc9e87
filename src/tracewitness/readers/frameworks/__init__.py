"""Formats of agent frameworks, of what they return and what they save: one module each, with a `READER`."""
