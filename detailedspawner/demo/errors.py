"""Refusals of the stand-in, in the words of the Kubernetes API server."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


class ApiError(Exception):
    """A refused request: HTTP status, reason, message and details; `to_status()` is its body."""

    def __init__(self, code: int, reason: str, message: str, details: Object | None = None):
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def to_status(self) -> Object:
        """Return the `v1.Status` that clients parse."""
        head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        details = {} if self.details is None else {"details": self.details}
        return {
            **head,
            "message": self.message,
            "reason": self.reason,
            **details,
            "code": self.code,
        }


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def forbidden(plural: str, name: str, why: str) -> ApiError:
    details = {"name": name, "kind": plural}
    return ApiError(403, "Forbidden", f'{plural} "{name}" is forbidden: {why}', details)


def not_found(plural: str, name: str) -> ApiError:
    details = {"name": name, "kind": plural}
    return ApiError(404, "NotFound", f'{plural} "{name}" not found', details)


def conflict(kind: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {kind} "{name}": {why}'
    return ApiError(409, "Conflict", message, {"name": name, "kind": kind})


def invalid(kind: str, name: str, causes: list[Object]) -> ApiError:
    texts = [f"{cause['field']}: {cause['message']}" for cause in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = ({"name": name} if name else {}) | {"kind": kind, "causes": causes}
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details)
