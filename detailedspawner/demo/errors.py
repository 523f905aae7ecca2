"""Refusals of the stand-in, in the words of the Kubernetes API server."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


class ApiError(Exception):
    """A refused request: HTTP status, reason, message and details; `to_status()` is its body."""

    def __init__(self, code: int, reason: str, message: str, details: Object | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details or {}

    def to_status(self) -> Object:
        """Return the `v1.Status` that clients parse."""
        status: Object = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
        return status | {key: vars(self)[key] for key in ("code", "reason", "message", "details")}


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def refusal(code: int, reason: str, plural: str, name: str, text: str) -> ApiError:
    """Return an error that says something about one object."""
    return ApiError(code, reason, f'{plural} "{name}" {text}', {"name": name, "kind": plural})
