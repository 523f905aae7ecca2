"""The init container that Zero to JupyterHub adds to every server, as a named step.

The chart blocks the cloud provider's metadata service with it. In the chart's
values, these lines go under `hub.extraConfig`.
"""

from traitlets.config import get_config

import detailedspawner

c = get_config()
detailedspawner.configure(c)

c.DetailedKubeSpawner.step_names = {
    "block-cloud-metadata": "Securing the network",
    "step:machine": "Finding a machine",
    "step:session": "Starting your server",
}
