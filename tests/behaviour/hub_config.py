"""The Hub of the behaviour suite; what differs by cluster comes from the environment."""

import os

from traitlets.config import get_config

import detailedspawner
from tests.behaviour import cancel_cases, cases, counting, gate_cases, restart_cases
from tests.behaviour.hub_base import base

c = get_config()
detailedspawner.configure(c)

base(c)
cases.configure(c)
c.KubeSpawner.start_timeout = 150
c.KubeSpawner.http_timeout = 60
c.KubeSpawner.profile_list = [
    *cases.profiles(),
    *gate_cases.profiles(),
    *cancel_cases.profiles(os.environ["SUITE_NAMESPACE"]),
]
c.Spawner.pre_spawn_hook = cancel_cases.pre_spawn_hook
cancel_cases.slow_down()
c.JupyterHub.extra_handlers.append(counting.HANDLER)
if "SUITE_OWN_PROXY" in os.environ:
    # as zero-to-jupyterhub has it: servers and proxy outlive the Hub
    c.ConfigurableHTTPProxy.should_start = False
    c.JupyterHub.cleanup_servers = False
    c.KubeSpawner.profile_list = restart_cases.profiles()
