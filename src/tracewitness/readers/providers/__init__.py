"""Formats of model providers' wire: one module each, with a `READER`."""
