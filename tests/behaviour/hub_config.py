"""The Hub of the behaviour suite; what differs by cluster comes from the environment."""

from traitlets.config import get_config

import detailedspawner
from tests.behaviour import cases, gate_cases
from tests.behaviour.hub_base import base

c = get_config()
detailedspawner.configure(c)

base(c)
c.KubeSpawner.image = cases.SINGLEUSER
c.KubeSpawner.cmd = cases.SERVER
c.KubeSpawner.args = []
c.KubeSpawner.environment = cases.POD_IP
c.KubeSpawner.start_timeout = 150
c.KubeSpawner.http_timeout = 60
c.KubeSpawner.profile_list = [*cases.profiles(), *gate_cases.profiles()]
