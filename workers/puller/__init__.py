"""Mirrors runs of a W&B server into Lastgood, through the doors that a `wandb` client uses."""
