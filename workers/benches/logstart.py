"""What the processes of the made-up job print when they start: launcher, NCCL, weights, warnings.

Forms follow real logs: NCCL 2.19-2.27 INFO lines, torchrun and torchelastic, Python warnings.
"""

from __future__ import annotations

from workers.benches.logtape import SITE, Tape, clock

_LAUNCHED = (
    ("nnodes", "{hosts}"),
    ("nproc_per_node", "{gpus}"),
    ("rdzv_backend", "c10d"),
    ("rdzv_endpoint", "gpu-000:29500"),
    ("max_restarts", "3"),
    ("monitor_interval", "0.1"),
    ("log_dir", "/lustre/runs/llm-300b/48213/attempt_{attempt}"),
)
_WARNINGS = (
    (
        "torch/utils/checkpoint.py:1399: FutureWarning",
        "`torch.cpu.amp.autocast(args...)` is deprecated. "
        "Please use `torch.amp.autocast('cpu', args...)` instead.",
    ),
    (
        "torch/distributed/c10d_logger.py:83: UserWarning",
        "barrier(): using the device under current context. "
        "You can specify `device_id` in `init_process_group` to mute this warning.",
    ),
    (
        "transformers/utils/generic.py:311: FutureWarning",
        "`torch.utils._pytree._register_pytree_node` is deprecated. "
        "Please use `torch.utils._pytree.register_pytree_node` instead.",
    ),
    (
        "torch/_dynamo/variables/functions.py:1262: UserWarning",
        "Dynamo does not know how to trace the builtin `posix.stat.` "
        "This function is either a Python builtin or a C extension.",
    ),
    (
        "megatron/core/tensor_parallel/layers.py:290: UserWarning",
        "When using async grad allreduce it is recommended to set the environment variable "
        "CUDA_DEVICE_MAX_CONNECTIONS to 1 for maximum speedup",
    ),
)
_BUSES = ("1a000", "40000", "53000", "66000", "9c000", "c0000", "d2000", "e4000")


def start(tape: Tape, at_s: float, attempt: int) -> None:
    """An attempt begins: about 420 lines a rank."""
    for host in range(len(tape.hosts)):
        _launch(tape, at_s, attempt, host)
    for rank in range(tape.ranks):
        began_s = at_s + tape.chance.random() * 2
        _join(tape, began_s, rank)
        _channels(tape, began_s, rank)
        for group in range(7):
            _communicator(tape, began_s, rank, group)
        _warn(tape, began_s, rank)
        _load(tape, began_s, rank, attempt)


def _launch(tape: Tape, at_s: float, attempt: int, host: int) -> None:
    name, rank, chance = tape.hosts[host], host * tape.gpus, tape.chance
    said = (
        f"srun: job 48213 step {attempt} task {host}: launching on {name}"
        f" (cpus-per-task=96, gres=gpu:{tape.gpus})"
    )
    tape.add_host(at_s - 6, host, "slurm", "INFO", said)
    at = clock(at_s)
    said = (
        f"W{at[5:7]}{at[8:10]} {at[11:19]}.{chance.randrange(10**6):06d} {tape.pids[rank] - 9}"
        " torch/distributed/run.py:792] Setting OMP_NUM_THREADS environment variable for each"
        " process to be 1 in default, to avoid your system being overloaded"
    )
    tape.add(at_s - 5.5, rank, "launcher", "INFO", said)
    for key, form in _LAUNCHED:
        value = form.format(hosts=len(tape.hosts), gpus=tape.gpus, attempt=attempt)
        where = f"torch/distributed/launcher/api.py:{chance.randrange(180, 200)}]"
        tape.add(at_s - 5.2, rank, "launcher", "INFO", f"I {where}   {key:<18}: {value}")


def _prefix(tape: Tape, rank: int) -> str:
    host, local = tape.hosts[rank // tape.gpus], rank % tape.gpus
    return f"{host}:{tape.pids[rank]}:{tape.tids[rank]} [{local}] NCCL INFO "


def _join(tape: Tape, at_s: float, rank: int) -> None:
    host, local, ranks = rank // tape.gpus, rank % tape.gpus, tape.ranks
    bond = f"bond0:10.20.{host}.{10 + host}<0>"
    cards = " ".join(f"[{at}]mlx5_{at}:1/IB" for at in range(8))
    links = " ".join(
        f"[{at}] {(rank + 1) % ranks}/{(rank + 8) % ranks if local == 0 else -1}/-1"
        f"->{rank}->{(rank - 1) % ranks}"
        for at in range(24)
    )
    comm, commid = tape.hex(12), tape.hex(16)
    first = (
        f"> initialized tensor model parallel with size 8 pipeline 4 data 2"
        f" on rank {rank} local_rank {local} (seed {1234 + rank})"
    )
    joins = (
        f"ncclCommInitRankConfig comm 0x{comm} rank {rank} nranks {ranks} cudaDev {local}"
        f" nvmlDev {local} busId {_BUSES[local]} commId 0x{commid} - Init START"
    )
    tape.add(at_s, rank, "train", "INFO", first)
    rings = [f"Ring {at:02d} : {(rank - 1) % ranks} -> {rank} -> {(rank + 1) % ranks}"
             for at in range(24)]  # fmt: skip
    for after_s, said in (
        (0.1, f"Bootstrap : Using {bond}"),
        (0.1, f"NET/IB : Using {cards} [RO]; OOB {bond}"),
        (0.1, "Using network IB"),
        (0.2, joins),
        *((0.3, ring) for ring in rings),
        (0.35, f"Trees {links}"),
    ):
        tape.add(at_s + after_s, rank, "nccl", "INFO", _prefix(tape, rank) + said)


def _channels(tape: Tape, at_s: float, rank: int) -> None:
    ranks, gpus, local = tape.ranks, tape.gpus, rank % tape.gpus
    host, after, before = rank // gpus, (rank + 1) % ranks, (rank - 1) % ranks
    prefix = _prefix(tape, rank)
    for at in range(24):
        near = after // gpus == host
        via = "via P2P/CUMEM/read" if near else f"[send] via NET/IB/{at % 8}/GDRDMA"
        said = f"Channel {at:02d}/0 : {rank}[{local}] -> {after}[{after % gpus}] {via}"
        tape.add(at_s + 0.5 + at * 0.002, rank, "nccl", "INFO", prefix + said)
        if before // gpus != host:
            said = (
                f"Channel {at:02d}/0 : {before}[{before % gpus}] -> {rank}[{local}]"
                f" [receive] via NET/IB/{at % 8}/GDRDMA"
            )
            tape.add(at_s + 0.5 + at * 0.002, rank, "nccl", "INFO", prefix + said)


def _communicator(tape: Tape, at_s: float, rank: int, group: int) -> None:
    local, chance, begin_s = rank % tape.gpus, tape.chance, group * 0.3
    prefix, other = _prefix(tape, rank), (local + group + 1) % 8
    for at in range(16):
        said = f"Channel {at:02d}/1 : {local}[{local}] -> {other}[{other}] via P2P/IPC/read"
        tape.add(at_s + 1 + begin_s + at * 0.002, rank, "nccl", "INFO", prefix + said)
    said = f"Connected all rings, use ring PXN {group % 2} GDR 1"
    tape.add(at_s + 1.2 + begin_s, rank, "nccl", "INFO", prefix + said)
    said = "threadThresholds 8/8/64 | 512/8/64 | 512 | 512"
    tape.add(at_s + 1.2 + begin_s, rank, "nccl", "INFO", prefix + said)
    said = (
        f"ncclCommInitRankConfig comm 0x{tape.hex(12)} rank {local} nranks 8 cudaDev {local}"
        f" nvmlDev {local} busId {_BUSES[local]} commId 0x{tape.hex(16)} - Init COMPLETE"
    )
    tape.add(at_s + 1.25 + begin_s, rank, "nccl", "INFO", prefix + said)
    said = (
        f"Init timings - ncclCommInitRankConfig: rank {local} nranks 8"
        f" total {chance.uniform(0.4, 2):.2f} (kernels {chance.uniform(0.1, 0.3):.2f},"
        f" alloc {chance.uniform(0.05, 0.2):.2f}, bootstrap {chance.uniform(0.02, 0.5):.2f},"
        f" allgathers 0.0{chance.randrange(9)}, topo 0.{chance.randrange(10, 30)},"
        " graphs 0.00, connections 0.02, rest 0.01)"
    )
    tape.add(at_s + 1.26 + begin_s, rank, "nccl", "INFO", prefix + said)


def _warn(tape: Tape, at_s: float, rank: int) -> None:
    for number, (where, said) in enumerate(_WARNINGS):
        tape.add(at_s + 3, rank, "train", "WARN", f"{SITE}/{where}: {said}")
        code = "warnings.warn(" if number % 2 else "return func(*args, **kwargs)"
        tape.add(at_s + 3, rank, "train", "INFO", f"  {code}")


def _load(tape: Tape, at_s: float, rank: int, attempt: int) -> None:
    for layer in range(96):
        shape = tape.chance.choice([1024, 2048, 4096])
        said = (
            f"[rank{rank}]:  loading weight shard {layer:03d}/096"
            f" name=decoder.layers.{layer}.self_attention.linear_qkv.weight"
            f" shape=({shape}, 12288) dtype=torch.bfloat16"
            f" from s3://ckpt/llm-300b/iter_{40000 + attempt * 800:07d}/__{rank}_{layer % 4}.distcp"
            f" in {tape.chance.uniform(3, 90):.1f} ms"
        )
        tape.add(at_s + 4 + layer * 0.03, rank, "train", "INFO", said)
