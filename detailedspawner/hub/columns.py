"""The Hub's table of servers as plain columns, for queries over many of them.

The Hub's own objects would load more for each server, and its type for JSON keeps SQLAlchemy
from remembering a query: JSON is read as its text here, as the Hub writes it.
"""

from __future__ import annotations

import json

from jupyterhub import orm
from sqlalchemy import DateTime, Integer, Text, column, table

SERVERS = table(
    orm.Spawner.__tablename__,
    column("id", Integer),
    column("user_id", Integer),
    column("name", Text),
    column("state", Text),
    column("user_options", Text),
    column("last_activity", DateTime),
).c


def written(*keys: str) -> str:
    """Return how the text of a JSON object in the table has a key, and nested ones at its start."""
    return ": {".join(json.dumps(key) for key in keys) + ": "
