"""Runs evaluations: holds a job by a lease, its command by a process of its own."""
