"""Tells those who wait for something that it has changed."""

from __future__ import annotations

import logging
from collections.abc import Callable

Listener = Callable[[], None]

_log = logging.getLogger(__name__)


class Notifier:
    """Tells those who follow a pod, by its "namespace/name", that something changed."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Listener]] = {}

    def subscribe(self, key: str, listener: Listener) -> Callable[[], None]:
        """Call `listener` after each change of the pod; returns what ends that."""
        self._listeners.setdefault(key, set()).add(listener)

        def unsubscribe() -> None:
            listeners = self._listeners.get(key, set())
            listeners.discard(listener)
            if not listeners:
                self._listeners.pop(key, None)

        return unsubscribe

    def notify(self, key: str) -> None:
        """Call every listener of this pod; costs nothing for the other pods."""
        for listener in tuple(self._listeners.get(key, ())):
            try:
                listener()
            except Exception:
                # one pod's trouble must not break off the watch of all
                _log.exception("Telling of a change of %s failed", key)
