"""The Hub whose starts go wrong; what differs by cluster comes from the environment."""

import os

from traitlets.config import get_config

import detailedspawner
from tests.behaviour import cases, counting, death_cases, failure_cases, grace_cases, recovery_cases
from tests.behaviour.hub_base import base

c = get_config()
detailedspawner.configure(c)

base(c)
cases.configure(c)
# seconds until the Hub notices that a server has died
c.KubeSpawner.poll_interval = 2
# far more than the failures that count, which are counted here
c.KubeSpawner.consecutive_failure_limit = 1000
c.KubeSpawner.profile_list = [
    *failure_cases.profiles(os.environ["SUITE_NAMESPACE"]),
    *death_cases.profiles(os.environ["SUITE_NAMESPACE"]),
    *grace_cases.profiles(os.environ["SUITE_NAMESPACE"]),
    *recovery_cases.profiles(os.environ["SUITE_NAMESPACE"]),
]
c.JupyterHub.extra_handlers.append(counting.FAILURES)
