"""Changes in the newest releases of the hosts and frameworks that the documentation names."""
