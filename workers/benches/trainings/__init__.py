"""Small real trainings with known faults and known plans, to judge detectors on."""
