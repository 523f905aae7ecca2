"""Hiding of secrets: what looks like a credential, and values that are known to be one.

Everything here is pure and never raises for any string. What is hidden is decided by
its form (a token, a URL with a password), by the name before it (`password=…`), or
because a caller knows the very value, as that of an environment variable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

# What is longer was never meant to be read, and would only slow the patterns down.
LONGEST_TEXT = 16_384
HIDDEN = "(hidden)"

# Shorter values would be found in innocent words; the next are looked for as whole words.
SHORTEST_SECRET = 6
SHORTEST_ANYWHERE = 8
MOST_SECRETS = 500
_DEEPEST = 8

_URL_CREDENTIALS = re.compile(r"(?<=://)[^/\s\"'<>?#]{1,512}@")
# Words may follow "basic" too: a credential has a digit or a sign in it, or is long.
_BEARER = re.compile(
    r"\b(bearer|basic|authorization:\s{0,4}token)\s+(?=\S{0,500}[\d=+/]|\S{20})[\w.~+/=-]{8,}",
    re.IGNORECASE,
)
_NAME = (
    r"(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|[_-]key\b|credential|signature(?==)|\bsig(?==)|\bpwd\b|username)"
)
# What follows a slash is part of a path or an image, such as "science/token-tool:2026".
_NAMED_SECRET = re.compile(
    rf"(?P<name>(?<![\w/@-])[\w.-]{{0,60}}{_NAME}[\w-]{{0,64}})"
    r"(?P<sign>\s{0,4}[=:]\s{0,4}[\"']?|[\"']\s{0,4}:\s{0,4}[\"'])"
    r"(?P<value>(?!\(hidden\))[^\s\"',;&]{4,})",
    re.IGNORECASE,
)
_OPTION = re.compile(
    rf"(?P<name>(?<!\S)--?[\w-]{{0,40}}{_NAME}[\w-]{{0,40}}\s+)(?!\(hidden\))\S{{4,}}", re.I
)
_KNOWN_TOKEN = re.compile(
    r"\b(?:gh[opsur]_\w{20,}|github_pat_\w{20,}|gl(?:pat|dt|ptt|rt)-[\w-]{16,}"
    r"|dckr_\w{3,}_[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|xox[abprs]-[\w-]{10,}|hf_[A-Za-z0-9]{20,}|sk-[\w-]{20,}|AIza[\w-]{30,}"
    r"|npm_\w{30,}|pypi-[\w-]{16,}|robot\$[\w.+-]{1,200})"
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.{0,16000}?(?:-----END [A-Z ]{0,30}-----|\Z)"
    # the end of a log may begin in the middle of a key
    r"|(?:[A-Za-z0-9+/=]{16,100}\s{1,4}){1,200}-----END [A-Z ]{0,30}PRIVATE KEY-----",
    re.DOTALL,
)
# Docker Hub names the account, and sometimes its token, in the refusal; clouds name the role.
_ACCOUNT = re.compile(
    r"(?P<said>rate limit) as '?[^\s',:]{1,200}'?(?:: [^\s,]{1,300})?"
    r"|(?P<user>\buser:? )arn:[\w:/+=,.@-]{1,300}",
    re.IGNORECASE,
)
_SECRET_WORDS = (
    *("bearer", "basic", "authorization", "passw", "passphrase", "secret", "token", "key"),
    *("credential", "signature", "sig", "pwd", "username", "gh", "glpat", "gldt", "glptt", "glrt"),
    *("dckr", "akia", "asia", "eyj", "xox", "hf_", "sk-", "aiza", "npm_", "pypi-", "robot$"),
    *("rate limit", "arn:"),
)

_KEY_WORDS = frozenset(
    {
        *("token", "tokens", "secret", "secrets", "password", "passwd", "passphrase", "pass"),
        *("pwd", "key", "keys", "apikey", "credential", "credentials", "cred", "creds", "auth"),
        *("pat", "dsn", "cookie", "private", "signature", "sas", "bearer"),
    }
)
_KEY_ENDS = ("token", "secret", "password", "passwd", "apikey", "accesskey", "secretkey")
# A secret's name, place or age is no secret.
_HARMLESS_ENDS = frozenset(
    {
        *("name", "path", "file", "dir", "directory", "type", "length", "size", "ttl", "timeout"),
        *("expiry", "expires", "enabled", "count", "algorithm", "mode", "prefix", "scope"),
        *("scopes", "lifetime", "layout", "required"),
    }
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# A password like these is none, and hiding it would make nonsense of what is said.
_COMMON = frozenset(
    {
        *("password", "passwd", "secret", "secrets", "token", "default", "undefined", "enabled"),
        *("disabled", "changeme", "jovyan", "jupyter", "jupyterhub", "notebook", "singleuser"),
        *("container", "localhost", "anonymous", "public", "private", "required", "optional"),
        *("python", "kubernetes", "memory", "image", "server", "failed", "forbidden", "denied"),
        *("unauthorized", "postgres", "cluster", "machine", "readonly", "standard", "storage"),
    }
)
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w./@+-]*")
_PLAIN_URL = re.compile(r"\w{1,20}://[^@]*")
_URL_PASSWORD = re.compile(r"://([^/\s\"'<>?#:]{0,256}):([^/\s\"'<>?#]{1,512})@")
_RANDOM = re.compile(r"[A-Za-z0-9+/=_-]{20,}")


def without_secrets(text: str) -> str:
    """Hide what looks like a credential: in URLs, headers, assignments, known tokens."""
    text = text[:LONGEST_TEXT]
    lower = text.lower()
    if "://" in text:
        text = _URL_CREDENTIALS.sub("", text)
    # Most texts have none of these, and the patterns below are slow to say so.
    if not any(word in lower for word in _SECRET_WORDS):
        return text
    if "PRIVATE KEY-----" in text:
        text = _PRIVATE_KEY.sub(HIDDEN, text)
    text = _BEARER.sub(lambda found: f"{found.group(1)} {HIDDEN}", text)
    text = _ACCOUNT.sub(lambda found: found["said"] or found["user"] + HIDDEN, text)
    text = _KNOWN_TOKEN.sub(HIDDEN, text)
    text = _OPTION.sub(lambda found: found["name"] + HIDDEN, text)
    return _NAMED_SECRET.sub(lambda found: found["name"] + found["sign"] + HIDDEN, text)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Hide these very values wherever they stand, then all that looks like a credential.

    A value counts from 6 characters on, up to 7 only as a whole word.
    """
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= SHORTEST_ANYWHERE:
            text = text.replace(secret, HIDDEN)
        elif len(secret) >= SHORTEST_SECRET and secret in text:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, text)
    return without_secrets(text)


def redact_all(value: Any, secrets: Iterable[str] = (), longest: int = LONGEST_TEXT) -> Any:
    """Redact every text inside of JSON, and cut it to so many characters; copies it."""
    known = tuple(secrets)

    def clean(item: Any, depth: int) -> Any:
        if isinstance(item, str):
            return redact(item, known)[:longest]
        if depth > _DEEPEST:
            return None
        if isinstance(item, Mapping):
            return {str(key): clean(inner, depth + 1) for key, inner in item.items()}
        if isinstance(item, (list, tuple)):
            return [clean(inner, depth + 1) for inner in item]
        return item

    return clean(value, 0)


@lru_cache(maxsize=4096)
def names_a_secret(key: str) -> bool:
    """Tell by its name whether a variable or an option holds a secret."""
    words = [word.lower() for word in _WORDS.findall(key[:200])]
    if words[-1:] and words[-1] in _HARMLESS_ENDS:
        return False
    return any(word in _KEY_WORDS or word.endswith(_KEY_ENDS) for word in words)


def secret_values(
    named: Iterable[tuple[str, object]], public: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the values to hide among (name, value) pairs; those in `public` never are.

    By its name a pair is secret, or by its value: a password in a URL, random letters.
    Values of one are looked into: the parts of JSON and the lines of a key are secret too.
    """
    known = " ".join(public).lower()
    found: dict[str, None] = {}
    for name, value in named:
        for part in _parts(name, value):
            # what is part of a name that is shown anyway cannot be hidden
            if _can_be_hidden(part) and part.lower() not in known:
                found.setdefault(part)
                # as it stands in a URL or in JSON, and after blanks were joined
                found.setdefault(quote(part, safe=""))
                found.setdefault(json.dumps(part, ensure_ascii=False)[1:-1])
                found.setdefault(" ".join(part.split()))
        if len(found) >= MOST_SECRETS:
            break
    return tuple(found)


def option_values(options: object, public: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the values to hide in what a user chose (any JSON), by the names of its keys."""
    return secret_values(_leaves("", options, 0), public)


def _leaves(name: str, value: object, depth: int) -> Iterator[tuple[str, object]]:
    """List the values inside of JSON, with the name that is nearest to each."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = str(key)
            # what is inside of something secret is secret
            joined = f"{name}_{inner}" if names_a_secret(name) else inner
            yield from _leaves(joined, item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(name, item, depth + 1)
    else:
        yield name, value


def _parts(name: str, value: object) -> Iterator[str]:
    """Return what of one value is secret."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        return
    text = value.strip()
    for user, password in _URL_PASSWORD.findall(text):
        yield password
        if names_a_secret(name):
            yield user
    if text[:1] in "{[" and text[1:]:
        try:
            inner = json.loads(text)
        except (ValueError, RecursionError):
            inner = None
        if isinstance(inner, (dict, list)):
            for key, item in _leaves(name, inner, 0):
                if not (isinstance(item, str) and item.strip()[:1] in ("{", "[")):
                    yield from _parts(key, item)
    if names_a_secret(name):
        yield text
        if "\n" in text:
            yield from (line.strip() for line in text.splitlines() if not line.startswith("-----"))
    elif _looks_random(text):
        yield text


def _looks_random(text: str) -> bool:
    """Tell whether this is made of letters of both cases and digits, as tokens are."""
    return (
        bool(_RANDOM.fullmatch(text))
        and not text.startswith("/")
        and any(character.isdigit() for character in text)
        and any(character.islower() for character in text)
        and any(character.isupper() for character in text)
    )


def _can_be_hidden(value: str) -> bool:
    if len(value) < SHORTEST_SECRET or value.lower() in _COMMON:
        return False
    # where a secret lies is no secret
    return not (_PATH.fullmatch(value) or _PLAIN_URL.fullmatch(value))
