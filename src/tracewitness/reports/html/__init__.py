"""The report as one HTML file that opens from disk: no network, nothing in it is run but the page's own script."""

from .writer import HtmlReport, write_html

__all__ = ["HtmlReport", "write_html"]
