"""What the processes of the made-up job print while it trains: steps, data, sensors, troubles.

Forms follow real logs: Megatron-LM, torchtitan and DeepSpeed step lines, DCGM, c10d, the kernel.
"""

from __future__ import annotations

import json

from workers.benches.logtape import BASE, SITE, Tape, clock

STEP_S = 2.55
_TIMERS = (
    ("forward-backward", 0.83),
    ("forward-compute", 0.27),
    ("backward-compute", 0.52),
    ("batch-generator", 0.01),
    ("forward-recv", 0.05),
    ("grads-reduce-scatter", 0.06),
    ("params-all-gather", 0.04),
    ("optimizer", 0.05),
)
_STAGE3 = (
    "reduce_ready_partitions_and_remove_grads",
    "partition_all_parameters",
    "_allgather_params",
)
_SHARDS = ("cc_en", "cc_de", "code", "wiki", "books", "arxiv")
PCI = ("0000:1a:00", "0000:40:00", "0000:53:00", "0000:66:00",
       "0000:9c:00", "0000:c0:00", "0000:d2:00", "0000:e4:00")  # fmt: skip
_READ_FAILS = (
    "Traceback (most recent call last):",
    '  File "/workspace/pretrain_gpt.py", line 268, in <module>',
    "    pretrain(train_valid_test_datasets_provider, model_provider,",
    '  File "/workspace/megatron/training/training.py", line 1421, in train_step',
    "    losses_reduced = forward_backward_func(",
    '  File "/workspace/megatron/core/datasets/gpt_dataset.py", line 512, in __getitem__',
    "    text, document_ids = self._query_document_sample_shuffle_indices(idx)",
    '  File "/workspace/megatron/core/datasets/indexed_dataset.py", line 455, in get',
    "    sequence = self.bin_reader.read(",
    '  File "/workspace/megatron/core/datasets/indexed_dataset.py", line 301, in read',
    "    response = self._client.get_object(",
    f'  File "{SITE}/botocore/client.py", line 569, in _api_call',
    "    return self._make_api_call(operation_name, kwargs)",
)


class Trainer:
    """The job's loss curve, and what each process says of every step."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.step, self.count = 40_000, 0
        self.rate = 5.969e-05
        self.spike = 0
        self.loss = self.norm = self.step_ms = 0.0

    def advance(self) -> None:
        """The numbers of the next step. Spikes come by chance and heal."""
        chance = self.tape.chance
        self.count += 1
        self.step += 1
        self.rate *= 0.99999
        if chance.random() < 0.0012:
            self.spike = 25
        jump = self.spike * 0.06 if self.spike else 0
        self.loss = 2.35 - self.step * 2.2e-6 + chance.gauss(0, 0.015) + jump
        growth = 1 + self.spike**2 * 0.9 if self.spike else 1
        self.norm = abs(chance.gauss(0.18, 0.03)) * growth
        self.spike -= 1 if self.spike else 0
        self.step_ms = STEP_S * 1000 + chance.gauss(0, 14)

    def speak(self, at_s: float, rank: int) -> None:
        """What one process says of the step."""
        chance = self.tape.chance
        said_s = at_s + chance.random() * 0.02
        kind = chance.random()
        if rank == self.tape.ranks - 1:
            self._job_line(at_s, said_s, rank)
        else:
            self._rank_line(at_s, said_s, rank)
        for bound, tell in (
            (0.34, self._timing),
            (0.62, self._sensors),
            (0.80, self._batch),
            (0.90, self._bucket),
            (0.95, self._collective),
        ):
            if kind < bound:
                tell(at_s, said_s, rank)
                break
        self._trouble(at_s, said_s, rank)

    def _job_line(self, at_s: float, said_s: float, rank: int) -> None:
        step, ms, add = self.step, self.step_ms, self.tape.add
        said = (
            f" [{clock(at_s)[:-4]}] iteration {step:8d}/  115311"
            f" | consumed samples: {step * 2048:12d} | consumed tokens: {step * 2048 * 2048:13d}"
            f" | elapsed time per iteration (ms): {ms:.1f}"
            f" | throughput per GPU (TFLOP/s/GPU): {1000000 / ms:.1f}"
            f" | learning rate: {self.rate:.3E} | global batch size:  2048"
            f" | lm loss: {self.loss:.6E} | loss scale: 1.0 | grad norm: {self.norm:.3f}"
            " | number of skipped iterations:   0 | number of nan iterations:   0 |"
        )
        add(said_s, rank, "train", "INFO", said)
        if step % 20 == 0:
            add(said_s, rank, "train", "INFO", "(min, max) time across ranks (ms):")
            for name, share in _TIMERS:
                most = ms * share * (1 + self.tape.chance.random() * 0.1)
                said = f"    {name} ".ljust(66, ".") + f": ({ms * share:.2f}, {most:.2f})"
                add(said_s, rank, "train", "INFO", said)

    def _rank_line(self, at_s: float, said_s: float, rank: int) -> None:
        chance = self.tape.chance
        said = (
            f"[rank{rank}]:[titan] {clock(at_s)} - root - INFO - step: {self.step:6d}"
            f"  loss: {self.loss:8.4f}  grad_norm: {self.norm:7.4f}"
            f"  memory: {chance.uniform(61, 66):5.2f}GiB({chance.uniform(76, 83):.2f}%)"
            f"  tps: {chance.randrange(3900, 4200):,}  tflops: {chance.uniform(380, 402):.2f}"
            f"  mfu: {chance.uniform(38, 41):.2f}%"
        )
        self.tape.add(said_s, rank, "train", "INFO", said)

    def _timing(self, at_s: float, said_s: float, rank: int) -> None:
        chance, ms = self.tape.chance, self.step_ms
        said = {
            "event": "timing",
            "step": self.step,
            "rank": rank,
            "data_wait_ms": round(abs(chance.gauss(4, 3)), 2),
            "fwd_ms": round(ms * 0.27 + chance.gauss(0, 4), 1),
            "bwd_ms": round(ms * 0.52 + chance.gauss(0, 5), 1),
            "opt_ms": round(ms * 0.05, 1),
            "mem_alloc_gb": round(chance.uniform(58, 63), 2),
        }
        self.tape.add(said_s + 0.3, rank, "train", "INFO", json.dumps(said))

    def _sensors(self, at_s: float, said_s: float, rank: int) -> None:
        chance, tape = self.tape.chance, self.tape
        said = (
            f"gpu={rank % tape.gpus} uuid=GPU-{tape.pids[rank]:08x}"
            f" util={chance.randrange(88, 101)} temp={chance.randrange(52, 79)}"
            f" power_w={chance.randrange(520, 701)}"
            f" sm_clock={chance.choice([1980, 1980, 1980, 1965, 1755])}"
            f" mem_used_mib={chance.randrange(61000, 66000)}"
            f" nvlink_tx_gbps={chance.randrange(120, 410)}"
            f" ecc_sbe={chance.choice([0] * 30 + [1, 2])} ecc_dbe=0"
            f" pcie_replay={chance.choice([0] * 40 + [1])}"
        )
        tape.add(said_s + 0.5, rank, "dcgm", "INFO", said)

    def _batch(self, at_s: float, said_s: float, rank: int) -> None:
        chance = self.tape.chance
        said = (
            f"[DataLoader worker {chance.randrange(8)}] rank {rank}"
            f" fetched batch {self.step * 2 + chance.randrange(2)}"
            f" (shard {chance.choice(_SHARDS)}_{chance.randrange(4096):05d}.tar,"
            f" {chance.randrange(2000, 9000)} KiB) in {abs(chance.gauss(11, 9)):.1f} ms,"
            f" prefetch queue {chance.randrange(2, 9)}"
        )
        self.tape.add(said_s + 0.1, rank, "data", "INFO", said)

    def _bucket(self, at_s: float, said_s: float, rank: int) -> None:
        chance = self.tape.chance
        said = (
            f"[{clock(at_s)}] [DEBUG] [stage3.py:{chance.randrange(900, 2400)}"
            f":{chance.choice(_STAGE3)}] [Rank {rank}] bucket {chance.randrange(64)}"
            f" numel {chance.randrange(10**6, 5 * 10**8)} stream 0x{self.tape.hex(10)}"
        )
        self.tape.add(said_s + 0.2, rank, "train", "DEBUG", said)

    def _collective(self, at_s: float, said_s: float, rank: int) -> None:
        tape, chance, pid = self.tape, self.tape.chance, self.tape.pids[rank]
        said = (
            f"{tape.hosts[rank // tape.gpus]}:{pid}:{pid} [{rank % tape.gpus}] NCCL INFO"
            f" {chance.choice(['AllReduce', 'AllGather', 'ReduceScatter'])}:"
            f" opCount {self.step:x} sendbuff 0x7f{tape.hex(10)} recvbuff 0x7f{tape.hex(10)}"
            f" count {chance.randrange(1000, 5 * 10**8)} datatype 9 op 0 root 0"
            f" comm 0x55{tape.hex(10)} [nranks={chance.choice([2, 8, 32, 64])}]"
            f" stream 0x{tape.hex(10)}"
        )
        tape.add(said_s + 0.2, rank, "nccl", "INFO", said)

    def _trouble(self, at_s: float, said_s: float, rank: int) -> None:
        chance = self.tape.chance.random()
        if chance < 0.0009:
            self._slow_batch(said_s, rank)
        elif chance < 0.0012:
            self._memory_retry(at_s, said_s, rank)
        elif chance < 0.00135:
            tape, local = self.tape, rank % self.tape.gpus
            said = (
                f"{tape.hosts[rank // tape.gpus]}:{tape.pids[rank]}:{tape.tids[rank]} [{local}]"
                " transport/net_ib.cc:1296 NCCL WARN NET/IB : Got async event :"
                f" port error on mlx5_{local}, retrying"
            )
            tape.add(said_s + 0.6, rank, "nccl", "WARN", said)
        elif chance < 0.00142:
            self._read_timeout(said_s, rank)

    def _slow_batch(self, said_s: float, rank: int) -> None:
        chance = self.tape.chance
        said = (
            f"[rank{rank}]: WARNING slow batch: waited {chance.uniform(600, 4000):.0f} ms"
            f" for s3://data/tokens/shard_{chance.randrange(9999):05d}.bin"
            f" (retry {chance.randrange(1, 4)}/5)"
        )
        self.tape.add(said_s + 0.6, rank, "data", "WARN", said)

    def _memory_retry(self, at_s: float, said_s: float, rank: int) -> None:
        chance, at = self.tape.chance, clock(at_s)
        said = (
            f"[rank{rank}]:[W{at[5:7]}{at[8:10]} {at[11:19]}.{chance.randrange(10**9):09d}"
            " CUDACachingAllocator.cpp:1452] Warning: memory allocation retry,"
            f" {chance.uniform(0.1, 3):.2f} GiB free of 79.11 GiB,"
            f" reserved {chance.uniform(74, 78):.2f} GiB (function operator())"
        )
        self.tape.add(said_s + 0.6, rank, "train", "WARN", said)

    def _read_timeout(self, said_s: float, rank: int) -> None:
        last = (
            'botocore.exceptions.ReadTimeoutError: Read timeout on endpoint URL: "https://s3.'
            f'internal/data/tokens/shard_{self.tape.chance.randrange(9999):05d}.bin"'
            f" (rank {rank}, retry 1/5, request id {self.tape.hex(16)})"
        )
        for at, said in enumerate((*_READ_FAILS, last)):
            self.tape.add(said_s + 0.7 + at * 1e-5, rank, "train", "ERROR", f"[rank{rank}]: {said}")


def save(tape: Tape, at_s: float, step: int) -> None:
    """Every rank saves its part of a checkpoint; those of one host are slow."""
    chance, folder = tape.chance, f"s3://ckpt/llm-300b/iter_{step:07d}"
    for rank in range(tape.ranks):
        took_s = chance.uniform(11, 19) * (2.4 if rank // tape.gpus == 6 else 1)
        begin_s, prefix = at_s + 0.9, f"[rank{rank}]: "
        said = f"saving checkpoint at iteration {step} to {folder} in torch_dist format"
        tape.add(begin_s, rank, "ckpt", "INFO", prefix + said)
        for part in range(4):
            said = (
                f"  wrote {folder}/__{rank}_{part}.distcp"
                f" {chance.randrange(12 * 10**9, 14 * 10**9)} bytes in {took_s / 4:.2f} s"
                f" ({chance.uniform(0.8, 1.1):.2f} GB/s) crc32c={tape.hex(8)}"
            )
            tape.add(begin_s + took_s * part / 4, rank, "ckpt", "INFO", prefix + said)
        said = (
            f"  successfully saved checkpoint from iteration {step} to {folder}"
            f" [ t {rank % 8 + 1}/8, p {rank // 16 + 1}/4 ] in {took_s:.2f} s"
        )
        tape.add(begin_s + took_s, rank, "ckpt", "INFO", prefix + said)


def host_lines(tape: Tape, at_s: float) -> None:
    """What the hosts say now and then."""
    chance = tape.chance
    for host in range(len(tape.hosts)):
        kind, said_s = chance.random(), at_s + chance.random()
        level, said = "INFO", ""
        uptime = f"kernel: [{100000 + at_s:.6f}]"
        if kind < 0.3:
            said = f"systemd[1]: session-{chance.randrange(9999)}.scope: Deactivated successfully."
        elif kind < 0.5:
            said = (
                f"{uptime} mlx5_core 0000:{chance.choice(['0c', '2a', '9a'])}:00.0:"
                f" mlx5_pcie_event:{chance.randrange(280, 320)}:(pid {chance.randrange(9999)}):"
                " Detected insufficient power on the PCIe slot (27W)."
            )
        elif kind < 0.7:
            said = (
                "chronyd[1022]: Selected source 10.20.0.1 (ntp.internal),"
                f" offset {chance.gauss(0, 0.00004):.9f} s"
            )
        elif kind < 0.75:
            level, said = "WARN", _worn(tape, uptime, kind, at_s)
        if said:
            tape.add_host(said_s, host, "kernel", level, said)


def _worn(tape: Tape, uptime: str, kind: float, at_s: float) -> str:
    if kind < 0.73:
        return (
            f"{uptime} NVRM: Xid (PCI:{PCI[tape.chance.randrange(8)]}): 63, pid='<unknown>',"
            f" name=<unknown>, Row Remapper: New row (0x{tape.hex(12)}) marked for remapping,"
            " reset gpu to activate."
        )
    now = int(BASE.timestamp() + at_s)
    return (
        f"{uptime} Lustre: 8312:0:(client.c:2309:ptlrpc_expire_one_request()) @@@ Request sent has"
        f" timed out for slow reply: [sent {now}/real {now}] req@{tape.hex(16)}"
        " o400->MGC10.20.9.1@o2ib"
    )
