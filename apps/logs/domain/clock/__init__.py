"""Lines over time: counts by minute and rank, and whose clock is off."""
