"""The matrix of supported versions: each session tests in an environment of its own.

    nox -l                                all sessions
    nox -s "unit-3.11(jupyterhub-5.5, kubespawner-7.0, lowest)"
    nox                                   everything, with each Python that is there

`.ci/run` runs the corners of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
JUPYTERHUBS = {"jupyterhub-5.5": "jupyterhub==5.5.*", "jupyterhub-6": "jupyterhub==6.*"}
KUBESPAWNERS = {
    "kubespawner-7.0": "jupyterhub-kubespawner==7.0.*",
    "kubespawner-7.1": "jupyterhub-kubespawner==7.1.*",
}
UNIT = ("-m", "not smoke and not browser and not slow", "--ignore", "tests/behaviour")
BEHAVIOUR = ("-m", "not slow", "tests/behaviour")

nox.options.error_on_missing_interpreters = False


def matrix(session: Callable[..., None]) -> Callable[..., None]:
    """Run a session with each combination of versions."""
    for name, values in {
        "jupyterhub": JUPYTERHUBS,
        "kubespawner": KUBESPAWNERS,
        "dependencies": ("lowest", "newest"),
    }.items():
        session = nox.parametrize(name, [nox.param(value, id=value) for value in values])(session)
    return nox.session(python=PYTHONS)(session)


def constraints(session: nox.Session, jupyterhub: str, kubespawner: str, dependencies: str) -> str:
    """Write the versions of a combination down for pip."""
    folder = Path(session.virtualenv.location)
    lines = [JUPYTERHUBS[jupyterhub], KUBESPAWNERS[kubespawner]]
    if dependencies == "lowest":
        oldest = Path("scripts/oldest.txt").read_text().splitlines()
        lines += [line for line in oldest if not line.startswith("jupyterhub")]
    if jupyterhub == "jupyterhub-6":
        # it asks for more than we do
        lines = [line.replace("tornado==6.4", "tornado==6.5") for line in lines]
    chosen = folder / "constraints.txt"
    chosen.write_text("\n".join(lines) + "\n")
    return str(chosen)


def environment(session: nox.Session, *versions: str) -> None:
    """Install what the tests need, by the script that everything else uses as well."""
    folder = Path(session.virtualenv.location)
    # nox has made it already
    (folder / ".made").touch()
    session.env.update(
        VENV=os.path.relpath(folder), CONSTRAINTS=constraints(session, *versions), KUBECONFIG=None
    )
    session.run("scripts/environment", "test", external=True)


@matrix
def unit(session: nox.Session, jupyterhub: str, kubespawner: str, dependencies: str) -> None:
    """Everything but what needs a browser, and the behaviour suite."""
    environment(session, jupyterhub, kubespawner, dependencies)
    session.run("python", "-m", "pytest", *UNIT, *session.posargs)


@matrix
def behaviour(session: nox.Session, jupyterhub: str, kubespawner: str, dependencies: str) -> None:
    """A real Hub and proxy before the stand-in for a cluster."""
    environment(session, jupyterhub, kubespawner, dependencies)
    session.run("python", "-m", "pytest", *BEHAVIOUR, *session.posargs)


@matrix
def wheel(session: nox.Session, jupyterhub: str, kubespawner: str, dependencies: str) -> None:
    """The built wheel, and nothing of this folder."""
    session.install("build")
    out = Path(session.create_tmp())
    session.run("python", "-m", "build", "--outdir", str(out), silent=True)
    (built,) = out.glob("*.whl")
    versions = constraints(session, jupyterhub, kubespawner, dependencies)
    session.install("--constraint", versions, str(built))
    session.run("python", "scripts/check_installation")
