"""The version, here only: packaging, the REST API and the command line read it from this place."""

from __future__ import annotations

__version__ = "0.1.0"
