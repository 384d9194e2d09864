"""The node agent: follows log, `.wandb` and checkpoint event files and sends them, exactly once.

Plain Python without Django; it runs on every training node. docs/agent.md describes it.
"""
