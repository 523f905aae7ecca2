"""For what pyproject.toml cannot say: the project's page on PyPI is the README's first part."""

from pathlib import Path

from setuptools import setup

README = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
# what each status means, settings, programs and measurements are for readers of the repository
FIRST_PART, _, _ = README.partition("## What each status means")

setup(long_description=FIRST_PART.rstrip(), long_description_content_type="text/markdown")
