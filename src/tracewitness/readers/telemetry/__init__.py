"""Formats of telemetry, spans and their exports: one module each, with a `READER`."""
