"""The demo's Hub, configured as an installation on Kubernetes would be."""

from __future__ import annotations

import os

import detailedspawner
from detailedspawner.demo.profiles import PROFILES, STEP_NAMES

detailedspawner.configure(c)
c.JupyterHub.allow_named_servers = True
# The page with the steps is shown at once, as zero-to-jupyterhub has it.
c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0}
c.KubeSpawner.namespace = "default"  # of the cluster that KUBECONFIG names
c.KubeSpawner.image = "singleuser:1"
c.KubeSpawner.cmd = ["jupyterhub-singleuser"]
c.KubeSpawner.default_url = "/lab"
c.KubeSpawner.start_timeout = 120
c.KubeSpawner.profile_list = PROFILES
c.DetailedKubeSpawner.step_names = STEP_NAMES
c.DetailedKubeSpawner.show_logs = True

c.JupyterHub.bind_url = os.environ["DEMO_URL"]
c.JupyterHub.hub_bind_url = os.environ["DEMO_HUB_URL"]
c.ConfigurableHTTPProxy.api_url = os.environ["DEMO_PROXY_API_URL"]

# Whoever has the password that the launcher shows may sign in under any name.
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = os.environ["DEMO_PASSWORD"]
c.SharedPasswordAuthenticator.admin_password = os.environ["DEMO_ADMIN_PASSWORD"]
c.Authenticator.allow_all = True
c.Authenticator.admin_users = {"admin"}
