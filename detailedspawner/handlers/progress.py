"""The progress stream: the Hub's own, with the whole status in the event that ends it."""

from __future__ import annotations

from typing import Any

from jupyterhub.apihandlers.users import SpawnProgressAPIHandler

# the Hub's word for a start that was cancelled
HUBS_CANCELLED = "Spawn cancelled"
CANCELLED = "Start cancelled"


class ProgressAPIHandler(SpawnProgressAPIHandler):  # type: ignore[misc]  # no type hints
    """GET the events of a start."""

    async def send_event(self, event: dict[str, Any]) -> None:
        """Write one event; the one that tells of a failure carries the status."""
        if event.get("failed") and "status" not in event:
            user_name, server_name = (*self.path_args, "")[:2]
            user = self.find_user(user_name)
            spawner = user.spawners.get(server_name or "") if user is not None else None
            if event.get("message") == HUBS_CANCELLED:
                event = {**event, "message": CANCELLED, "html_message": CANCELLED}
            if spawner is not None and hasattr(spawner, "detailed_snapshot"):
                event = {**event, "status": spawner.detailed_snapshot()}
        await super().send_event(event)
