"""The profiles as one user sees them, from that user's own spawner object, and their volumes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..models.servers import (
    UNKNOWN_HOME_MOUNT_PATH,
    Choice,
    Label,
    MessageLevel,
    Option,
    Picture,
    PodMetadata,
    Profile,
    ProfileTemplate,
    Redirect,
    RedirectMessage,
    Volume,
    VolumeMounts,
    Volumes,
)
from ..profilelists import Entries, Entry, choices_of, default_choice, label_pairs, options_of
from ..profiling import configured

Item = Mapping[str, Any]

Counts = Callable[[Entries], Mapping[str, int] | None]


def claimed_volumes(volumes: object, mounts: object, home_claim: str | None = None) -> Volumes:
    """Return the volumes with a claim where they are mounted.

    Reads Kubernetes' names and KubeSpawner's, lists and dicts. The home is the one of
    `home_claim`, else the first. What still has a template in it is not known.
    """
    claims = {}
    for volume in _items(volumes):
        claim = _get(volume, "persistentVolumeClaim", "persistent_volume_claim")
        if isinstance(claim, Mapping):
            claims[volume.get("name")] = _get(claim, "claimName", "claim_name")
    found: dict[Any, Volume] = {}
    for mount in _items(mounts):
        name = mount.get("name")
        if name in claims and name not in found:
            path = _get(mount, "mountPath", "mount_path")
            read_only = bool(_get(mount, "readOnly", "read_only"))
            found[name] = Volume(_plain(claims[name]), _plain(path), read_only)
    every = list(found.values())
    home = next((item for item in every if home_claim and item.claim == home_claim), None)
    home = home or next(iter(every), None)
    if home is None:
        return Volumes()
    data = tuple(item for item in every if item is not home)
    return Volumes(Volume(home.claim or home_claim, home.mount_path, home.read_only), data)


def pod_volumes(pod: Item, main_container: str, home_claim: str | None) -> Volumes:
    """Return the same from a pod as the API has it."""
    spec = pod.get("spec") or {}
    for container in _items(spec.get("containers")):
        if container.get("name") == main_container:
            return claimed_volumes(spec.get("volumes"), container.get("volumeMounts"), home_claim)
    return Volumes()


def unknown_volumes(home_claim: str | None) -> Volumes:
    """Return what is said of the volumes of a profile that no longer exists."""
    return Volumes(Volume(home_claim, UNKNOWN_HOME_MOUNT_PATH))


def _items(value: object) -> Iterable[Item]:
    if isinstance(value, Mapping):
        value = [value[key] for key in sorted(value)]
    if not isinstance(value, list | tuple):
        return []
    return [item for item in value if isinstance(item, Mapping)]


def _get(item: Item, *names: str) -> Any:
    return next((item[name] for name in names if name in item), None)


def _plain(text: object) -> str | None:
    return text if isinstance(text, str) and "{" not in text else None


async def user_profiles(user: Any, counts: Counts) -> list[Profile]:
    """Return what a user can choose from; raises whatever evaluating it raised.

    The default server's object serves, made from its row where there is none, and let go of
    again. `counts`: how many servers have each profile, by slug; None where that is not told.
    """
    made = "" not in user.spawners
    # the Hub makes the row of the default server with the user
    spawner = user.get_spawner("")
    try:
        if not hasattr(spawner, "profiles"):
            return []
        if not spawner.active:
            # as the Hub does before it shows the form
            await spawner.run_auth_state_hook(await user.get_auth_state())
        entries = await spawner.profiles()
        found = counts(entries)
        return [_profile(entry, found, spawner) for entry in entries]
    finally:
        if made and not spawner.active and user.spawners.get("") is spawner:
            del user.spawners[""]


def _profile(entry: Entry, counts: Mapping[str, int] | None, spawner: Any) -> Profile:
    options = {
        name: Option(
            display_name=str(option.get("display_name") or name),
            default=default_choice(option),
            values=tuple(_choice(key, choice) for key, choice in choices_of(option).items()),
            unlisted_choice=bool((option.get("unlisted_choice") or {}).get("enabled")),
        )
        for name, option in options_of(entry).items()
    }
    return Profile(
        id=entry["slug"],
        name=entry["slug"],
        display_name=entry["display_name"],
        description=str(entry.get("description") or ""),
        default=bool(entry.get("default")),
        deprecated=entry.get("deprecated", False),
        deprecation_message=entry.get("deprecation_message"),
        hidden=entry.get("hidden", False),
        icon=picture(entry.get("icon")),
        logo=picture(entry.get("logo")),
        redirect=_redirect(entry.get("redirect")),
        servers_count=None if counts is None else counts.get(entry["slug"], 0),
        pod_template=ProfileTemplate(
            pod_metadata=pod_metadata(entry),
            volume_mounts=VolumeMounts(_home(entry, spawner)),
            options=options,
        ),
    )


def _choice(key: str, choice: Entry) -> Choice:
    return Choice(
        id=key,
        display_name=str(choice.get("display_name") or key),
        description=str(choice.get("description") or ""),
        labels=labels(choice),
        hidden=choice.get("hidden", False),
        deprecated=choice.get("deprecated", False),
        deprecation_message=choice.get("deprecation_message"),
        icon=picture(choice.get("icon")),
        logo=picture(choice.get("logo")),
        redirect=_redirect(choice.get("redirect")),
    )


def labels(item: Entry) -> tuple[Label, ...]:
    """Return the labels of an entry or a choice."""
    return tuple(Label(key, value) for key, value in label_pairs(item.get("labels")))


def picture(value: Any) -> Picture | None:
    """Return an icon or logo, which may be written as its URL alone."""
    if value is None:
        return None
    return Picture(value["url"] if isinstance(value, Mapping) else value)


def message(value: Any) -> RedirectMessage | None:
    """Return the message of a redirect."""
    if value is None:
        return None
    return RedirectMessage(value["text"], MessageLevel(value.get("level", "info")))


def pod_metadata(entry: Entry) -> PodMetadata:
    """Return what the entry itself says of its pods: what it sets on them stays inside."""
    return PodMetadata(labels=dict(label_pairs(entry.get("labels"))))


def configured_volumes(
    entry: Entry | None, spawner_class: Any, config: Any, home_claim: str | None = None
) -> Volumes:
    """Return the volumes with a claim that pods of a profile have, or of none."""
    volumes, mounts = (
        _overridden(entry, trait, configured(spawner_class, config, trait))
        for trait in ("volumes", "volume_mounts")
    )
    return claimed_volumes(volumes, mounts, home_claim)


def _overridden(entry: Entry | None, name: str, otherwise: Any) -> Any:
    """Return a trait as a profile sets it."""
    override = (entry or {}).get("kubespawner_override") or {}
    value = override.get(name, otherwise)
    if isinstance(value, Mapping) and isinstance(otherwise, Mapping):
        # as KubeSpawner does
        return {**otherwise, **value}
    return value


def _redirect(value: Any) -> Redirect | None:
    return None if value is None else Redirect(value["to"], message(value.get("message")))


def _home(entry: Entry, spawner: Any) -> str | None:
    # a running server's own values are those of the profile that it was started with
    home = configured_volumes(entry, type(spawner), spawner.config).home
    return home.mount_path if home else None


def slugs(entries: Entries) -> tuple[list[str], str | None]:
    """Return the slugs of profiles, each once, and the default one."""
    default = next((entry["slug"] for entry in entries if entry.get("default")), None)
    return list(dict.fromkeys(entry["slug"] for entry in entries)), default
