"""Try what an installation needs: files, configuration, rights in the cluster, the proxy."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import aiohttp
from traitlets import TraitError
from traitlets.config import Application, Config
from traitlets.config.loader import PyFileConfigLoader

from .models.text import clean
from .pages import static_path, template_paths
from .pods import PodSettings

TIMEOUT = 10.0
IN_CLUSTER_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
STATIC_FILES = (
    *("detailedspawner.js", "detailedspawner-view.js", "detailedspawner-steps.js"),
    *("detailedspawner-words.js", "detailedspawner-end.js", "detailedspawner-logs.js"),
    "detailedspawner.css",
)
# from the first to below the second
VERSIONS = {
    "jupyterhub": ((5, 5), (7,)),
    "jupyterhub-kubespawner": ((7, 0), (8,)),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `ok` is None where it could not be tried."""

    ok: bool | None
    about: str
    message: str


@dataclass(frozen=True, slots=True)
class Right:
    """Something that the Hub does in the cluster, and what it does it for."""

    resource: str
    verbs: tuple[str, ...]
    purpose: str
    # without it starts work, but less is known about them
    optional: bool = False
    # of the whole cluster instead of one namespace
    everywhere: bool = False


# what the Hub would log about its settings, it logs when it starts
_SILENT = logging.getLogger("detailedspawner.checking")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class WrongConfig(Exception):
    """A configuration cannot be used; the text says why in one line."""


def check(config_file: str | None, namespace: str | None, proxy_url: str | None) -> list[Finding]:
    """Try everything; each finding says what is right, or what is wrong and what to do."""
    findings = [*versions(), *files()]
    config = Config()
    if config_file is None:
        findings.append(Finding(None, "configuration", "not given; use --config FILE"))
    else:
        # outside of a loop: within one, a configuration takes itself for that of a Hub
        try:
            config = load_config(config_file)
            findings += configuration(config)
        except WrongConfig as error:
            findings.append(Finding(False, "configuration", str(error)))
    return [*findings, *asyncio.run(_ask(config, namespace, proxy_url))]


async def _ask(config: Config, namespace: str | None, proxy_url: str | None) -> list[Finding]:
    found = await cluster(config, namespace)
    return found if proxy_url is None else [*found, await proxy(proxy_url, config)]


def versions() -> Iterator[Finding]:
    """Look whether the packages that this one builds on are of versions that it knows."""
    for package, (first, beyond) in VERSIONS.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            yield Finding(False, package, "is not installed; pip install detailedspawner again")
            continue
        numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdecimal())
        if first <= numbers < beyond:
            yield Finding(True, package, found)
        else:
            wanted = f"{'.'.join(map(str, first))} or later, below {beyond[0]}"
            yield Finding(False, package, f"is {found}; install {wanted}")


def files() -> Iterator[Finding]:
    """Look for the page templates and their scripts and styles."""
    try:
        yield Finding(True, "templates", ", ".join(template_paths()))
        static = Path(static_path())
    except FileNotFoundError as error:
        yield Finding(False, "templates", str(error))
        return
    missing = [name for name in STATIC_FILES if not (static / name).is_file()]
    if missing:
        text = f"{', '.join(missing)} missing in {static}; reinstall the package"
        yield Finding(False, "static files", text)
    else:
        yield Finding(True, "static files", str(static))


def load_config(file: str) -> Config:
    """Run a configuration file as JupyterHub does.

    Raises WrongConfig if it cannot be read or fails.
    """
    path = Path(file).resolve()
    if not path.is_file():
        raise WrongConfig(f"there is no file {file}")
    loader = PyFileConfigLoader(path.name, path=str(path.parent))
    # `get_config` of traitlets gives a file the configuration of the application
    application = None if Application.initialized() else Application.instance()
    try:
        config = loader.load_config()
        if application is not None:
            config.merge(application.config)
        return config
    except SystemExit as error:
        raise WrongConfig(f"it ends the program with: {clean(str(error.code), 400)}") from None
    except Exception as error:  # whatever an administrator wrote
        text = clean(f"{type(error).__name__}: {error}", 400)
        raise WrongConfig(f"it fails with {text}") from None
    finally:
        if application is not None:
            Application.clear_instance()


def configured_settings(file: str) -> PodSettings:
    """Return how pods are judged with this configuration; raises WrongConfig."""
    from .settings import DetailedTraits, check_config, resolved, sections

    config = load_config(file)
    traits = DetailedTraits.class_traits(config=True)
    values: dict[str, Any] = {}
    try:
        check_config(config)
        for section in sections(config):
            for name in traits.keys() & config[section].keys():
                values[name] = resolved(config[section][name], traits[name].default())
        return DetailedTraits(**values).pod_settings()
    except TraitError as error:
        raise WrongConfig(clean(str(error), 400)) from None


def configuration(config: Config) -> Iterator[Finding]:
    """Look whether `configure(c)` is in effect, and whether our settings are right."""
    from jupyterhub.app import JupyterHub

    from .handlers import undone_parts
    from .settings import check_config, check_names
    from .spawner import DetailedKubeSpawner

    try:
        check_config(config)
        check_names(config, set(DetailedKubeSpawner.class_trait_names(config=True)))
        yield Finding(True, "settings", "all of c.DetailedKubeSpawner are known and right")
    except TraitError as error:
        yield Finding(False, "settings", clean(str(error), 400))
    try:
        # only what was set: the application does not begin anything
        undone = undone_parts(JupyterHub(config=Config(JupyterHub=config.JupyterHub), log=_SILENT))
    except Exception as error:  # whatever a setting of the Hub makes of it
        text = clean(f"{type(error).__name__}: {error}", 400)
        yield Finding(False, "configure(c)", f"the Hub's own settings fail with {text}")
        return
    if undone:
        text = f"not in effect: {', '.join(undone)}; call detailedspawner.configure(c) last"
        yield Finding(False, "configure(c)", text)
    else:
        yield Finding(True, "configure(c)", "in effect")


def rights(config: Config) -> Iterator[Right]:
    """List what the Hub may have to do in the cluster with this configuration."""
    spawner = _setting(config)
    yield Right("pods", ("create", "delete", "get", "list", "watch"), "start and stop servers")
    if spawner("events_enabled", True):
        yield Right("events", ("list", "watch"), "say why a start hangs", optional=True)
    claims = "persistentvolumeclaims"
    if spawner("storage_pvc_ensure", False):
        yield Right(claims, ("create", "get"), "make the storage of users")
    yield Right(claims, ("get",), "say what is wrong with storage", optional=True)
    internal_ssl = bool(config.JupyterHub.get("internal_ssl", False))
    if internal_ssl or spawner("services_enabled", False):
        yield Right("services", ("create", "delete", "get"), "give servers their own address")
    if spawner("show_logs", False):
        yield Right("pods/log", ("get",), "show logs while servers start")
    if internal_ssl:
        yield Right("secrets", ("create", "delete", "get"), "give servers their certificates")
    if spawner("enable_user_namespaces", False):
        yield Right("namespaces", ("create",), "make a namespace for each user", everywhere=True)


def _setting(config: Config) -> Any:
    def get(name: str, default: object) -> object:
        for section in ("DetailedKubeSpawner", "KubeSpawner", "Spawner"):
            if section in config and name in config[section]:
                return config[section][name]
        return default

    return get


async def cluster(config: Config, namespace: str | None) -> list[Finding]:
    """Ask the API server whether it is there, and whether it lets the Hub do its work."""
    from kubernetes_asyncio.client import ApiClient, ApiException, AuthorizationV1Api, VersionApi

    try:
        access = await _access()
    except WrongConfig as error:
        return [Finding(False, "cluster", str(error))]
    if access is None:
        text = "no cluster to ask: run this in the Hub's pod, or set KUBECONFIG"
        return [Finding(None, "cluster", text)]
    kube, own = access
    told = _setting(config)("namespace", None)
    where = namespace or (told if isinstance(told, str) and "{" not in told else own)
    async with ApiClient(kube) as client:
        try:
            code = await VersionApi(client).get_code(_request_timeout=TIMEOUT)
        except ApiException as error:
            text = f"the API server answered {error.status} {clean(str(error.reason), 100)}"
            return [Finding(False, "cluster", text)]
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            text = f"{clean(str(kube.host), 200)} does not answer: {_why(error)}"
            return [Finding(False, "cluster", text)]
        api = AuthorizationV1Api(client)
        findings = [Finding(True, "cluster", f"Kubernetes {clean(str(code.git_version), 50)}")]
        return [*findings, *[await _right(api, right, where) for right in rights(config)]]


async def _access() -> tuple[Any, str] | None:
    """Return how to reach the cluster, and the namespace there; None if nothing says so."""
    from kubernetes_asyncio import config
    from kubernetes_asyncio.client import Configuration

    kube_config: Any = config  # only half of it has types
    # our own, so that nothing else in this process is set by it
    kube = Configuration()
    try:
        kube_config.load_incluster_config(client_configuration=kube)
        return kube, _read(IN_CLUSTER_NAMESPACE)
    except (kube_config.ConfigException, OSError):
        pass
    known = os.environ.get("KUBECONFIG") or "~/.kube/config"
    if not any(_is_file(part) for part in known.split(os.pathsep)):
        return None
    try:
        await kube_config.load_kube_config(known, client_configuration=kube)
        _, active = kube_config.list_kube_config_contexts(known)
        return kube, str((active.get("context") or {}).get("namespace") or "default")
    except Exception as error:  # a file that is no kubeconfig fails in many ways
        raise WrongConfig(clean(f"{known} cannot be used: {_why(error)}", 400)) from None


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def _is_file(path: str) -> bool:
    return Path(path).expanduser().is_file()


def _why(error: BaseException) -> str:
    """Say an error in one line, also one without words."""
    return clean(str(error), 300) or type(error).__name__


async def _right(api: Any, right: Right, namespace: str) -> Finding:
    from kubernetes_asyncio.client import ApiException

    where = "the whole cluster" if right.everywhere else f"namespace {namespace}"
    about = f"right on {right.resource}"
    missing = []
    for verb in right.verbs:
        resource, _, part = right.resource.partition("/")
        attributes = {"verb": verb, "resource": resource, "subresource": part, "group": ""}
        if not right.everywhere:
            attributes["namespace"] = namespace
        try:
            review = await api.create_self_subject_access_review(
                {"spec": {"resourceAttributes": attributes}}, _request_timeout=TIMEOUT
            )
        except (ApiException, aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            status = getattr(error, "status", None) or _why(error)
            return Finding(None, about, f"cannot be asked for: {status}")
        if not review.status.allowed:
            missing.append(verb)
    if not missing:
        return Finding(True, about, f"{', '.join(right.verbs)} in {where}")
    role = "ClusterRole" if right.everywhere else "Role"
    text = (
        f"may not {', '.join(missing)} in {where}, needed to {right.purpose}; "
        f"add it to the Hub's {role}"
    )
    return Finding(None if right.optional else False, about, text)


async def proxy(url: str, config: Config) -> Finding:
    """Ask the Hub for its health through the proxy."""
    base = config.JupyterHub.get("base_url", "/")
    path = f"/{str(base).strip('/')}/hub/health".replace("//", "/")
    asked = url.rstrip("/") + path
    shown = clean(asked, 300)
    try:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(asked, allow_redirects=False) as answer,
        ):
            status = answer.status
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
        text = f"{shown} does not answer ({_why(error)}); is this the proxy's address?"
        return Finding(False, "proxy", text)
    if status == 200:
        return Finding(True, "proxy", f"{shown} answers")
    if 300 <= status < 400:
        text = f"{shown} redirects ({status}); give the proxy's plain http address"
    elif status in (503, 404):
        text = f"{shown} answers {status}: no Hub behind it; is it running, is its base_url right?"
    else:
        text = f"{shown} answers {status}; is this the proxy's address?"
    return Finding(False, "proxy", text)
