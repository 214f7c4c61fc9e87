"""Readers of protocols' messages, as they went over the wire."""
