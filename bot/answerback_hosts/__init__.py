"""A folder a host: what is its own in the service and beside the agent. `answerback_base.hosts` finds them."""
