"""The Hub that `failures.py` measures."""

import os
from dataclasses import replace

from traitlets.config import get_config

import detailedspawner
from tests.behaviour import cases
from tests.behaviour.failure_cases import FAILURES, profile
from tests.behaviour.hub_base import base

c = get_config()
base(c)
if os.environ["BENCHMARK_SPAWNER"] == "detailed":
    detailedspawner.configure(c)
else:
    c.JupyterHub.spawner_class = "kubespawner.KubeSpawner"
cases.configure(c)
c.KubeSpawner.start_timeout = int(os.environ["BENCHMARK_TIMEOUT"])
c.KubeSpawner.consecutive_failure_limit = 0
profiles = []
for slug, case in FAILURES.items():
    # with the graces that everybody has
    override = profile(replace(case, patient=True), os.environ["SUITE_NAMESPACE"])
    del override["failure_graces"]
    profiles.append({"slug": slug, "display_name": slug, "kubespawner_override": override})
c.KubeSpawner.profile_list = profiles
