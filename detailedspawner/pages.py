"""The pages: where their templates lie in every kind of installation, and their settings."""

from __future__ import annotations

import difflib
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader
from traitlets import Bool, Dict, TraitError, Unicode, validate
from traitlets.config import Configurable

_PACKAGE = Path(__file__).resolve().parent

# A wheel carries the templates inside the package; an editable installation leaves them beside it.
_CANDIDATES = (_PACKAGE / "templates", _PACKAGE.parent / "templates")

# The page that every installation must have: its presence tells our folder from another one.
_LANDMARK = "spawn_pending.html"

TEXTS_TEMPLATE = "detailedspawner/_texts.html"
LONGEST_LINK = 2000


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


class PageTraits(Configurable):
    """What an admin can set about the pages of a start."""

    show_logs = Bool(
        False,
        config=True,
        help="""
        Show users what the containers of their server write while it starts.

        The Hub needs the right to get `pods/log` for this, which zero-to-jupyterhub does not
        give it. Shown to who could read it in the server itself, without what looks like
        a credential.
        """,
    )
    page_texts = Dict(
        config=True,
        help="""
        Change the words of the pages, or translate them.

        Maps the name of a text, as in `templates/detailedspawner/_texts.html`, to your own. What
        stands in braces there may stand in yours. HTML is shown as text.
        """,
    )
    help_url = Unicode(
        config=True,
        help="""
        Link a page of yours that helps when a start has failed.

        An address that begins with `https:`, `http:` or `mailto:`; none by default.
        """,
    )
    contact = Unicode(
        config=True,
        help="""
        Name whom users may ask when a start has failed.

        An address that begins with `mailto:`, `https:` or `http:`; none by default.
        """,
    )

    @validate("help_url", "contact")
    def _check_link(self, proposal: Any) -> str:
        link: str = proposal["value"].strip()
        if link and not is_link(link):
            raise TraitError(
                f"{proposal['trait'].name}: {link[:200]!r} is wrong: "
                "it must begin with https:, http: or mailto:, and hold no blanks"
            )
        return link

    @validate("page_texts")
    def _check_page_texts(self, proposal: Any) -> dict[str, str]:
        texts: dict[str, str] = proposal["value"]
        for name, text in texts.items():
            if name not in known_texts():
                near = difflib.get_close_matches(str(name), known_texts(), 1)
                hint = f"did you mean {near[0]}?" if near else f"see {TEXTS_TEMPLATE}"
                raise TraitError(f"page_texts: {name!r:.100} is not known; {hint}")
            if not isinstance(text, str):
                raise TraitError(f"page_texts: {name} must be text, not {text!r:.100}")
        return texts

    def page_settings(self) -> dict[str, Any]:
        """Return what the templates of the pages need to know beside the status."""
        return {
            "texts": dict(self.page_texts),
            "help_url": self.help_url,
            "contact": self.contact,
            "show_logs": self.show_logs,
        }


def is_link(link: str) -> bool:
    """Tell whether a browser may be sent there: a web page or a mail address."""
    if len(link) > LONGEST_LINK or not link.isprintable() or " " in link:
        return False
    try:
        parts = urlsplit(link)
    except ValueError:
        return False
    if parts.scheme in ("http", "https"):
        return bool(parts.hostname)
    return parts.scheme == "mailto" and "@" in parts.path


@lru_cache(maxsize=1)
def known_texts() -> dict[str, str]:
    """Return the texts of the pages by their names, as the package has them.

    Raises FileNotFoundError if the installation lacks its templates.
    """
    environment = Environment(loader=FileSystemLoader(template_paths()), autoescape=True)
    module: Any = environment.get_template(TEXTS_TEMPLATE).module
    return dict(module.defaults)
