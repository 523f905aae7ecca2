"""For tools that still look for this file: everything is declared in pyproject.toml."""

from setuptools import setup

setup()
