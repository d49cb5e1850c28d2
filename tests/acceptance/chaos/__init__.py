"""Three services on one PostgreSQL, people and agents that act all the time, and every kind of fault."""
