"""A Hub that is configured as Zero to JupyterHub does it, with what our page for it adds.

Where Z2JH names a checkout of the chart, its own configuration runs with its own values. Else this
file sets what that sets by default.
"""

import os
import secrets
import sys
from pathlib import Path
from typing import Any

import yaml
from traitlets.config import get_config

from tests.behaviour import cases
from tests.behaviour.hub_base import base
from tests.docblocks import texts


def image(reference: str) -> dict[str, str]:
    """Return an image as the chart's values name it."""
    name, _, tag = reference.rpartition(":")
    return {"name": name, "tag": tag}


PROFILES = [
    {"slug": "server", "display_name": "server"},
    {
        "slug": "wrong",
        "display_name": "wrong",
        "kubespawner_override": {"image": "No Such Image"},
    },
]
# only root may write to a volume of the test cluster
ENVIRONMENT = {"HOME": "/tmp"}  # noqa: S108 (in a container)
# the page's own values for the chart
PAGE = yaml.safe_load(
    next(text for text in texts("zero-to-jupyterhub.md", "yaml") if "extraConfig:" in text)
)
# the test cluster has no scheduler beside its own
HERE: dict[str, Any] = {
    "Release": {"Name": "jhub"},
    "Chart": {"Name": "jupyterhub", "Version": "4.4.0"},
    "cull": {"enabled": False},
    "scheduling": {"userScheduler": {"enabled": False}},
    "singleuser": {
        "image": image(cases.SINGLEUSER),
        "networkTools": {"image": image(cases.NETWORK_TOOLS)},
        "memory": {"guarantee": "100M"},
        "storage": {"capacity": "10Mi"},
        "extraEnv": ENVIRONMENT,
        "profileList": PROFILES,
    },
}


def run_chart(c: Any, chart: Path) -> None:
    """Run the chart's own configuration, with what its pod would have mounted."""
    files = chart / "jupyterhub" / "files" / "hub"
    sys.path.insert(0, str(files))
    import z2jh

    values = yaml.safe_load((chart / "jupyterhub" / "values.yaml").read_text())
    for more in (HERE, PAGE):
        values = z2jh._merge_dictionaries(values, more)
    mounted = {
        "hub.config.JupyterHub.cookie_secret": secrets.token_hex(32),
        "hub.config.CryptKeeper.keys": secrets.token_hex(32),
    }
    z2jh._load_config = lambda: values
    z2jh._get_config_value = lambda key: key
    z2jh.get_secret_value = lambda key, default=None: mounted.get(key, default)
    os.environ.update(
        POD_NAMESPACE=os.environ["SUITE_NAMESPACE"],
        PROXY_API_SERVICE_PORT=os.environ["PROXY_API_PORT"],
        HUB_SERVICE_PORT=os.environ["HUB_PORT"],
    )
    file = files / "jupyterhub_config.py"
    exec(  # noqa: S102
        compile(file.read_text(), str(file), "exec"),
        {"get_config": lambda: c, "__file__": str(file), "__name__": "__config__"},
    )


def resemble_chart(c: Any) -> None:
    """Set what the chart sets by default, then run the page's entries in their order."""
    c.JupyterHub.spawner_class = "kubespawner.KubeSpawner"
    c.JupyterHub.cleanup_servers = False
    c.JupyterHub.concurrent_spawn_limit = 64
    c.JupyterHub.template_paths = []
    c.ConfigurableHTTPProxy.should_start = False
    c.Spawner.consecutive_failure_limit = 5
    c.Spawner.cmd = "jupyterhub-singleuser"
    c.KubeSpawner.image = cases.SINGLEUSER
    c.KubeSpawner.common_labels = {
        "app": "jupyterhub",
        "release": "jhub",
        "app.kubernetes.io/name": "jupyterhub",
        "app.kubernetes.io/instance": "jhub",
        "app.kubernetes.io/managed-by": "kubespawner",
    }
    c.KubeSpawner.start_timeout = 300
    c.KubeSpawner.events_enabled = True
    c.KubeSpawner.extra_labels = {"hub.jupyter.org/network-access-hub": "true"}
    c.KubeSpawner.uid, c.KubeSpawner.fs_gid = 1000, 100
    c.KubeSpawner.allow_privilege_escalation = False
    c.KubeSpawner.mem_guarantee = "100M"
    c.KubeSpawner.node_affinity_preferred = [
        {
            "weight": 100,
            "preference": {
                "matchExpressions": [
                    {
                        "key": "hub.jupyter.org/node-purpose",
                        "operator": "In",
                        "values": ["user"],
                    }
                ]
            },
        }
    ]
    c.KubeSpawner.storage_pvc_ensure = True
    c.KubeSpawner.storage_access_modes = ["ReadWriteOnce"]
    c.KubeSpawner.storage_capacity = "10Mi"
    home = "volume-{user_server}"
    claim = {"claimName": "{pvc_name}"}
    c.KubeSpawner.volumes = {home: {"name": home, "persistentVolumeClaim": claim}}
    c.KubeSpawner.volume_mounts = {home: {"name": home, "mountPath": "/home/jovyan"}}
    c.KubeSpawner.init_containers = [
        {
            "name": "block-cloud-metadata",
            "image": cases.NETWORK_TOOLS,
            "command": ["iptables", "--append", "OUTPUT"],
            "securityContext": {"privileged": True, "runAsUser": 0},
        }
    ]
    c.KubeSpawner.environment = ENVIRONMENT
    c.KubeSpawner.profile_list = PROFILES
    for _, entry in sorted(PAGE["hub"]["extraConfig"].items()):
        exec(entry, {"c": c})  # noqa: S102


c = get_config()
if os.environ.get("Z2JH"):
    run_chart(c, Path(os.environ["Z2JH"]))
else:
    resemble_chart(c)

# what differs where the Hub is no pod
base(c)
c.JupyterHub.hub_connect_url = c.JupyterHub.hub_bind_url
c.JupyterHub.load_roles[0]["scopes"].append("access:servers")
if "SUITE_SHOW_LOGS" in os.environ:
    c.DetailedKubeSpawner.show_logs = True
