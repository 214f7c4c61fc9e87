"""What the tests of the plugin share."""

from __future__ import annotations

import pytest
from plugin_support import Project


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """Return an empty project."""
    return Project(pytester)
