"""Flight recorder dumps as PyTorch writes them, made from what each rank had enqueued."""

import json
import pickle


def collective(group, seq, name="nccl:all_reduce", state="scheduled"):
    """An entry of a collective of a group."""
    return _entry(group, seq, 0, name, state)


def pair(group, seq, name, state="scheduled"):
    """An entry of a send or a receive: `nccl:send 0->1`."""
    return _entry(group, 0, seq, name, state)


def _entry(group, seq, pair_seq, name, state):
    return {
        "record_id": 7,
        "pg_id": 1,
        "process_group": (group, f"GROUP_{group}"),
        "collective_seq_id": seq,
        "p2p_seq_id": pair_seq,
        "op_id": 9,
        "profiling_name": name,
        "time_created_ns": 1_795_985_000_000_000_000 + seq,
        "input_sizes": ((4, 8),),
        "state": state,
        "is_p2p": pair_seq > 0,
        "retired": False,
        "timeout_ms": 600_000,
    }


def dump(groups, entries, *, last=0):
    """The root of a dump. groups: name -> global ranks. last: of pg_status."""
    return {
        "version": "2.9",
        "pg_config": {
            name: {"name": name, "desc": f"GROUP_{name}", "ranks": str(list(ranks))}
            for name, ranks in groups.items()
        },
        "pg_status": {
            "1": {
                "last_enqueued_collective": last,
                "last_started_collective": -1,
                "last_completed_collective": last,
            }
        },
        "entries": entries,
    }


def pickled(root):
    """As the default writer stores it: protocol 2, no names."""
    return pickle.dumps(root, protocol=2)


def as_json(root):
    """As the JSON writer stores it."""
    return json.dumps(root).encode()
