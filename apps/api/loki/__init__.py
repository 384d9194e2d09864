"""The part of Loki's query API that Grafana's Explore and `logcli` use, to read from Lastgood."""
