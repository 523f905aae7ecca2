"""The Hub that `latency.py` and `waiting.py` measure."""

import os

from traitlets.config import get_config

import detailedspawner
from tests.behaviour import cases, gate_cases
from tests.behaviour.hub_base import base

c = get_config()
base(c)
if os.environ["BENCHMARK_SPAWNER"] == "detailed":
    detailedspawner.configure(c)
    # many reconnects of the watch within the measurement
    c.FollowingReflector.timeout_seconds = 5
else:
    c.JupyterHub.spawner_class = "kubespawner.KubeSpawner"

if os.environ["BENCHMARK_PODS"] == "held":
    container = {"image": "none", "command": ["true"]}
    c.KubeSpawner.image = "none"
    c.KubeSpawner.start_timeout = 600
    c.KubeSpawner.init_containers = [{"name": f"c{number}", **container} for number in range(40)]
    # nobody schedules or runs the pod: its status is what the benchmark writes
    c.KubeSpawner.extra_pod_config = {"schedulerName": "nobody"}
elif os.environ["BENCHMARK_PODS"] == "silent":
    c.KubeSpawner.image = cases.SINGLEUSER
    c.KubeSpawner.cmd = ["sleep", "100000"]
    c.KubeSpawner.args = []
    c.KubeSpawner.start_timeout = c.KubeSpawner.http_timeout = 1200
    c.JupyterHub.concurrent_spawn_limit = 0
    if os.environ["BENCHMARK_SPAWNER"] == "detailed":
        c.DetailedKubeSpawner.health_threshold = 1200
else:
    c.KubeSpawner.image = cases.SINGLEUSER
    c.KubeSpawner.cmd = ["python3", "-c", gate_cases.SCRIPT, "stamped", "0"]
    c.KubeSpawner.args = []
    c.KubeSpawner.environment = cases.POD_IP
c.KubeSpawner.delete_grace_period = 0
c.KubeSpawner.profile_list = [{"slug": "held", "display_name": "held"}]
