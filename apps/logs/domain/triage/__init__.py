"""Which rank failed first, from its lines and those of its neighbours."""
