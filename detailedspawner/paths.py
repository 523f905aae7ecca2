"""Where the page templates and their static files lie, in every kind of installation."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

# A wheel carries the templates inside the package; an editable installation leaves them beside it.
_CANDIDATES = (_PACKAGE / "templates", _PACKAGE.parent / "templates")

# The page that every installation must have: its presence tells our folder from another one.
_LANDMARK = "spawn_pending.html"


def template_paths() -> list[str]:
    """Return the folders for `JupyterHub.template_paths`.

    Raises FileNotFoundError, naming the places searched, if the installation lacks its templates.
    """
    return [str(_templates())]


def static_path() -> str:
    """Return the folder of the scripts and styles that the templates load.

    Raises FileNotFoundError as `template_paths` does.
    """
    return str(_templates() / "static")


def _templates() -> Path:
    for candidate in _CANDIDATES:
        if (candidate / _LANDMARK).is_file():
            return candidate
    searched = " and ".join(str(candidate) for candidate in _CANDIDATES)
    raise FileNotFoundError(
        f"detailedspawner's page templates are missing: no {_LANDMARK} in {searched}. "
        "Reinstall the package."
    )
