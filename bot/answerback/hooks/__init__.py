"""The hooks of agents' hosts, inside the service: an endpoint a host, and all decisions about what it is told."""
