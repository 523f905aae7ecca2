"""A Hub that ends after two failures in a row that speak against it or its cluster."""

import os

from traitlets.config import get_config

import detailedspawner
from tests.behaviour import cases, counting, limit_cases
from tests.behaviour.hub_base import base

c = get_config()
detailedspawner.configure(c)

base(c)
cases.configure(c)
c.KubeSpawner.consecutive_failure_limit = 2
# for how long an API server that does not answer is asked again
c.KubeSpawner.k8s_api_request_retry_timeout = 3
c.KubeSpawner.profile_list = limit_cases.profiles(os.environ["SUITE_NAMESPACE"])
c.JupyterHub.extra_handlers.append(counting.FAILURES)
