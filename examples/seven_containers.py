"""A session with seven containers, each a step with a name that users understand.

Three init containers prepare, two native sidecars and an ordinary one run along,
and the server itself is called `jupyter-server`.
"""

from traitlets.config import get_config

import detailedspawner

c = get_config()
detailedspawner.configure(c)

c.DetailedKubeSpawner.main_container = "jupyter-server"
c.DetailedKubeSpawner.step_names = {
    "init-certificates": "Initialization",
    "download-image": "Downloading session image",
    "git-clone": "Cloning and configuring the repository",
    "git-proxy": "Git credentials services",
    "oauth2-proxy": "Authentication and proxying services",
    "git-sidecar": "Auxiliary session services",
    "jupyter-server": "Starting session",
}
