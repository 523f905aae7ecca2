"""Secrets do not reach a user: known by their form, by the name before them, or by value."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from detailedspawner.models.redaction import (
    HIDDEN,
    names_a_secret,
    option_values,
    redact,
    secret_values,
    without_secrets,
)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        # credentials in URLs
        ("get https://ada:pw1234@git.example/x", "get https://git.example/x"),
        ("get https://token@git.example/x", "get https://git.example/x"),
        ("get https://ada:p@ss@git.example/x", "get https://git.example/x"),
        ("postgres://u:pw12@db:5432/x refused", "postgres://db:5432/x refused"),
        ("https://x.example/a?sig=abcdef12&b=1", f"https://x.example/a?sig={HIDDEN}&b=1"),
        ("https://x.example/?access_token=abcdef", f"https://x.example/?access_token={HIDDEN}"),
        # a name and its value
        ("PASSWORD=hunter22 x", f"PASSWORD={HIDDEN} x"),
        ("JUPYTERHUB_API_TOKEN=0123456789abcdef", f"JUPYTERHUB_API_TOKEN={HIDDEN}"),
        ("db_password: hunter22", f"db_password: {HIDDEN}"),
        ("password = 'hunter22'", f"password = '{HIDDEN}'"),
        ('password="hunter22"', f'password="{HIDDEN}"'),
        ("c.Git.token = 'abcdef'", f"c.Git.token = '{HIDDEN}'"),
        ('{"api_key": "abcdef"}', f'{{"api_key": "{HIDDEN}"}}'),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", f"AWS_SECRET_ACCESS_KEY={HIDDEN}"),
        ("ENCRYPTION_KEY=abcdefgh", f"ENCRYPTION_KEY={HIDDEN}"),
        ("login --password hunter22 registry", f"login --password {HIDDEN} registry"),
        ("login --api-token=abcdef", f"login --api-token={HIDDEN}"),
        # hidden already
        (f"token={HIDDEN}.", f"token={HIDDEN}."),
        (f"login --password {HIDDEN}.", f"login --password {HIDDEN}."),
        # headers and known forms
        ("Authorization: Bearer abcdefgh12345678", f"Authorization: Bearer {HIDDEN}"),
        ("Authorization: token abcdefgh12345678", f"Authorization: token {HIDDEN}"),
        ("ghp_" + "a" * 36, HIDDEN),
        ("glpat-" + "a" * 20, HIDDEN),
        ("AKIA" + "Z" * 16, HIDDEN),
        ("hf_" + "Ab1" * 10, HIDDEN),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", HIDDEN),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIB\nabc\n-----END RSA PRIVATE KEY-----\nb",
            f"a\n{HIDDEN}\nb",
        ),
        ("M" * 64 + "\n" + "N" * 64 + "\n-----END PRIVATE KEY-----\nb", f"{HIDDEN}\nb"),
        # accounts at registries and clouds
        ("pull rate limit as 'ada': dckr_jti_x. Wait", "pull rate limit Wait"),
        ("denied for robot$science+ci here", f"denied for {HIDDEN} here"),
        (
            "User: arn:aws:sts::123456789012:assumed-role/node/i-0abc is not authorized",
            f"User: {HIDDEN} is not authorized",
        ),
        # What only looks a little like a secret stays
        ('secret "user-gitconfig" not found', 'secret "user-gitconfig" not found'),
        ('secrets "ada-token": forbidden', 'secrets "ada-token": forbidden'),
        ("couldn't find key token in Secret hub/git", "couldn't find key token in Secret hub/git"),
        ("failed to sync secret cache: timed out", "failed to sync secret cache: timed out"),
        ("image x.example/secret-tool:2026.1 gone", "image x.example/secret-tool:2026.1 gone"),
        ("mail ada@example.org", "mail ada@example.org"),
        ("see https://example.org/@ada", "see https://example.org/@ada"),
        ("the basic configuration failed", "the basic configuration failed"),
    ],
)
def test_what_looks_like_a_credential_is_hidden(raw: str, shown: str) -> None:
    assert without_secrets(raw) == shown


@pytest.mark.parametrize(
    "name",
    [
        *("TOKEN", "JUPYTERHUB_API_TOKEN", "GitToken", "git-token", "DB_PASSWORD", "PGPASSWORD"),
        *("AWS_SECRET_ACCESS_KEY", "API_KEY", "apikey", "CREDENTIALS", "registry_auth", "S3_KEY"),
        *("GITHUB_PAT", "--password", "COOKIE_SECRET"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("MONKEY", "KEYBOARD", "PATH", "HOME", "AUTHOR", "KEYCLOAK_HOST", "COMPASS", "JUPYTER"),
        *("SECRET_NAME", "TOKEN_PATH", "TOKEN_TTL", "PASSWORD_FILE", ""),
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not names_a_secret(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("API_TOKEN", "true"),
        ("API_TOKEN", "1"),
        ("API_TOKEN", ""),
        ("API_TOKEN", "abc12"),
        ("DB_PASSWORD", "jovyan"),
        ("DB_PASSWORD", "Password"),
        ("SSH_KEY", "/home/jovyan/.ssh/id_rsa"),
        ("SSH_KEY", "~/.ssh/id_rsa"),
        ("AUTH", "https://auth.example/login"),
        ("GREETING", "good morning"),
        ("VERSION", "jupyterlab-4.2.1-with-more"),
        ("DB_PASSWORD", "ada-lovelace"),
        ("API_TOKEN", None),
        ("API_TOKEN", 3),
    ],
)
def test_what_would_make_nonsense_is_not_hidden(name: str, value: object) -> None:
    assert secret_values([(name, value)], public=["jupyter-ada-lovelace"]) == ()


@pytest.mark.parametrize(
    ("name", "value", "text", "shown"),
    [
        ("DB_PASSWORD", "hunter2", "login hunter2, hunter22", f"login {HIDDEN}, hunter22"),
        ("DB_PASSWORD", "correct horse", "as correct horse.", f"as {HIDDEN}."),
        ("API_TOKEN", "0123456789ab", "x0123456789aby", f"x{HIDDEN}y"),
        ("API_TOKEN", "a/b+c==d", "?q=a%2Fb%2Bc%3D%3Dd", f"?q={HIDDEN}"),
        ("DATABASE", "mysql://u:tr0ub4dor@h/d", "denied: tr0ub4dor", f"denied: {HIDDEN}"),
        ("BLOB", "qK8sVt2PzL9wXc4RmN7b", "got qK8sVt2PzL9wXc4RmN7b", f"got {HIDDEN}"),
        ("REGISTRY_AUTH", '{"a": {"b": "s3cr3ts3"}}', "it is s3cr3ts3", f"it is {HIDDEN}"),
        ("CONFIG", '{"git": {"token": "s3cr3ts3"}}', "it is s3cr3ts3", f"it is {HIDDEN}"),
        ("SSH_KEY", "-----BEGIN X-----\nline0001\n", "bad line0001", f"bad {HIDDEN}"),
        ("API_TOKEN", 'say "friend"', '{"x": "say \\"friend\\""}', f'{{"x": "{HIDDEN}"}}'),
    ],
)
def test_known_values_are_hidden_wherever_they_stand(
    name: str, value: str, text: str, shown: str
) -> None:
    assert redact(text, secret_values([(name, value)])) == shown


def test_the_longer_of_two_values_is_hidden_whole() -> None:
    assert redact("a hunter2-and-more b", ["hunter2-", "hunter2-and-more"]) == f"a {HIDDEN} b"


def test_options_are_looked_through_by_their_keys() -> None:
    options = {
        "profile": "large-memory",
        "git": {"url": "https://git.example", "access_token": ["tok-12345"]},
        "secrets": {"mail": "ada@home.example", "deep": [{"x": "deep-value"}]},
        "password": 3,
    }
    assert set(option_values(options)) >= {"tok-12345", "ada@home.example", "deep-value"}
    assert not {"large-memory", "https://git.example"} & set(option_values(options))


@hypothesis_settings(max_examples=200, deadline=None, database=None)
@given(st.recursive(st.text() | st.none() | st.integers(), lambda x: st.lists(x) | st.dictionaries(
    st.text(), x)), st.text())  # fmt: skip
def test_no_options_and_no_text_raise(options: object, text: str) -> None:
    redact(text, option_values({"token": options}))


@pytest.mark.parametrize(
    "raw",
    [
        *(
            "token" * 20_000,
            "://" * 20_000,
            "-----BEGIN PRIVATE KEY-----" * 2_000,
            "-token " * 9000,
        ),
        *(
            "A" * 100_000 + " PRIVATE KEY-----",
            "_key" * 20_000,
            "AAAAAAAAAAAAAAAA " * 5000 + "token",
        ),
        "://" + "a:" * 30_000 + "token",
    ],
)
def test_hostile_text_costs_little(raw: str) -> None:
    begun = time.process_time()
    redact(raw, secret_values([("TOKEN", raw), ("URL", raw)]))
    assert time.process_time() - begun < 1.0
