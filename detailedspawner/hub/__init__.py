"""The one place that touches private parts of JupyterHub and KubeSpawner.

Each of them is named here with the reason why no public part will do, and
`tests/test_hub.py` checks on every supported version that it is still there:

- `KubeSpawner._start_reflector`: it hard-codes its reflector classes, and a
  start that is cancelled during the first list leaves a reflector behind on
  which every later start and poll of the namespace hangs.
- `KubeSpawner._start_watching_pods`, `_start_watching_events`: starting them is
  not offered otherwise, and a Hub that may not read events must start servers.
- `KubeSpawner._get_reflector_key`: whose reflector serves this spawner.
- `KubeSpawner._make_create_pod_request`: the only place that sees the pod after
  `modify_pod_hook`, and what the API answered to it.
- `KubeSpawner._get_pod_url`: the URL of a pod, with the admin's `get_pod_url`.
- `KubeSpawner._expand_all`, `_sorted_dict_values`: what the pod will hold,
  before it exists.
- `KubeSpawner._render_options_form`: the form for other profiles than all that are configured.
- `Spawner._log_name`: the name that the Hub's own log lines use.
- `Spawner._spawn_future`: the start itself, to cancel it and wait for its end.
- `Spawner._spawn_pending`, `_stop_pending`, `_check_pending`, `_rename_pending`: what
  the Hub is doing with a server; it tells nobody when they change.
- `User._delete_spawner`: removes what a named server keeps, as the Hub does.
- `settings["failure_count"]` of a handler: JupyterHub 5 counts a user's mistake like a failure
  of its own, so it is counted back.
- The record that tornado logs of a start that fails after its request: JupyterHub 5 has it
  logged with its traceback, as an error of nobody's.
- The columns of `orm.Spawner` and how its JSON is written: lists of thousands of servers are
  found by one query.
"""

from __future__ import annotations

from .kubespawner import HubKubeSpawner, no_answer, spawn_error, status_of
from .servers import (
    COUNTS_MISTAKES,
    SERVERS,
    NoticesHub,
    forgive_failure,
    goes_on_elsewhere,
    is_still,
    may_read_logs,
    remove_server,
    rows_notifier,
    save_state,
    server_key,
    spawn_failure,
    spawn_future,
    written,
)

__all__ = [
    "COUNTS_MISTAKES",
    "SERVERS",
    "HubKubeSpawner",
    "NoticesHub",
    "forgive_failure",
    "goes_on_elsewhere",
    "is_still",
    "may_read_logs",
    "no_answer",
    "remove_server",
    "rows_notifier",
    "save_state",
    "server_key",
    "spawn_error",
    "spawn_failure",
    "spawn_future",
    "status_of",
    "written",
]
