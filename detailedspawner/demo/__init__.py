"""A Hub to try: real JupyterHub and proxy, and an embedded stand-in for a cluster."""
