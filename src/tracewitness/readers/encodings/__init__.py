"""What documents are written in beside JSON: one module each, with functions `fits` and `decode`."""
