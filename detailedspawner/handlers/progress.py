"""The progress stream: the Hub's own, with the whole status in the event that ends it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from jupyterhub.apihandlers.users import SpawnProgressAPIHandler

from ..hub import may_read_logs

# the Hub's word for a start that was cancelled
HUBS_CANCELLED = "Spawn cancelled"
CANCELLED = "Start cancelled"


class ProgressAPIHandler(SpawnProgressAPIHandler):  # type: ignore[misc]  # no type hints
    """GET the events of a start."""

    @cached_property
    def shows_logs(self) -> bool:
        """Whether the ends of logs go to who asks."""
        user_name, server_name = (*self.path_args, None)[:2]
        return may_read_logs(self.parsed_scopes, self.db, user_name, server_name or "")

    # whether an event has been sent
    _told = False

    async def send_event(self, event: dict[str, Any]) -> None:
        """Write one event; the one that tells of a failure carries the status.

        Nothing tells that a start was cancelled that nobody has cancelled: it is the Hub that
        ends, and when it is back the start goes on. Who opens the stream only then learns it.
        """
        if event.get("failed") and "status" not in event:
            user_name, server_name = (*self.path_args, "")[:2]
            user = self.find_user(user_name)
            spawner = user.spawners.get(server_name or "") if user is not None else None
            if event.get("message") == HUBS_CANCELLED:
                if self._told and not getattr(spawner, "start_cancelled", True):
                    return
                event = {**event, "message": CANCELLED, "html_message": CANCELLED}
            if spawner is not None and hasattr(spawner, "detailed_snapshot"):
                event = {**event, "status": spawner.detailed_snapshot()}
        if "status" in event and not self.shows_logs:
            event = {**event, "status": without_logs(event["status"])}
        self._told = True
        await super().send_event(event)


def without_logs(status: dict[str, Any]) -> dict[str, Any]:
    """Return a status for who may not see what the programs of its server write."""
    containers = [{**container, "log_tail": None} for container in status["containers"]]
    return {**status, "containers": containers}
