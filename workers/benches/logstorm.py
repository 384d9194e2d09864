"""How the made-up job dies: a memory error of one GPU, then every other rank's watchdog."""

from __future__ import annotations

from collections.abc import Sequence

from workers.benches.logsteps import PCI
from workers.benches.logtape import SITE, Tape, clock

_SEQUENCE = 64088
_POOL = "PG ID 0 PG GUID 0(default_pg) Rank"
_LIBS = f"{SITE}/torch/lib"
_ROOT_TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/workspace/pretrain_gpt.py", line 268, in <module>',
    "    pretrain(train_valid_test_datasets_provider, model_provider,",
    '  File "/workspace/megatron/training/training.py", line 1533, in train',
    "    train_step(forward_step_func, train_data_iterator, model, optimizer,"
    " opt_param_scheduler, config)",
    '  File "/workspace/megatron/core/optimizer/distrib_optimizer.py", line 2204,'
    " in step_with_ready_grads",
    "    torch.cuda.synchronize()",
    f'  File "{SITE}/torch/cuda/__init__.py", line 985, in synchronize',
    "    return torch._C._cuda_synchronize()",
    "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
    "CUDA kernel errors might be asynchronously reported at some other API call, so the"
    " stacktrace below might be incorrect.",
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
)
_FILES = (
    "/workspace/megatron/training/training.py",
    f"{SITE}/torch/autograd/graph.py",
    f"{SITE}/torch/distributed/distributed_c10d.py",
    "/workspace/megatron/core/pipeline_parallel/schedules.py",
)
_CALLS = ("all_reduce", "reduce_scatter", "all_gather")
_FUNCTIONS = (
    "train_step",
    "forward_backward_pipelining_with_interleaving",
    "all_reduce",
    "_engine_run_backward",
    "backward_step",
)


def storm(tape: Tape, at_s: float) -> None:
    """The root cause, what every other rank says of it, and what the launchers say."""
    _root(tape, at_s)
    for rank in range(tape.ranks):
        if rank != tape.root_rank:
            _Victim(tape, at_s, rank).die()
    for host in range(len(tape.hosts)):
        _summary(tape, at_s, host)
    host = tape.root_rank // tape.gpus
    said = f"srun: error: {tape.hosts[host]}: task {host}: Exited with exit code 1"
    tape.add_host(at_s + 127, 0, "slurm", "ERROR", said)


def _root(tape: Tape, at_s: float) -> None:
    rank = tape.root_rank
    host, pid, where = rank // tape.gpus, tape.pids[rank], PCI[rank % tape.gpus]
    for after_s, said in (
        (
            0.0,
            f"48, pid={pid}, name=python, An uncorrectable double bit error (DBE) has been"
            " detected on GPU in the framebuffer at partition 3, subpartition 1.",
        ),
        (
            0.02,
            f"94, pid={pid}, name=python, Contained: CE User Channel (0x9). RST: No, D-RST: No",
        ),
    ):
        head = f"kernel: [{100000 + at_s:.6f}] NVRM: Xid (PCI:{where}): "
        tape.add_host(at_s + after_s, host, "kernel", "ERROR", head + said)
    for at, said in enumerate(_ROOT_TRACEBACK):
        tape.add(at_s + 0.4 + at * 1e-4, rank, "train", "ERROR", f"[rank{rank}]: {said}")


class _Victim:
    """A rank that waits in vain for the broken one."""

    def __init__(self, tape: Tape, at_s: float, rank: int) -> None:
        self.tape, self.rank, self.chance = tape, rank, tape.chance
        self.at_s = at_s + 120.0 + self.chance.random() * 2.5
        self.work = (
            f"WorkNCCL(SeqNum={_SEQUENCE}, OpType=ALLREDUCE, NumelIn=131072000,"
            f" NumelOut=131072000, Timeout(ms)=120000)"
            f" ran for {120000 + self.chance.randrange(5, 95)} milliseconds before timing out."
        )
        self.ended = (
            f"[{_POOL} {rank}] Process group watchdog thread terminated with exception:"
            f" [Rank {rank}] Watchdog caught collective operation timeout: {self.work}"
        )

    def die(self) -> None:
        """All it says."""
        self._watchdog()
        frames = self._frames()
        self._list(0.41, "nccl", frames)
        self._list(0.5, "nccl", ["terminate called after throwing an instance of"
                                 " 'c10::DistBackendError'"])  # fmt: skip
        self._list(0.51, "nccl", [f"  what():  {self.ended}", *frames])
        self._list(0.7, "train", ["Fatal Python error: Aborted"])
        for at in range(self.chance.randrange(12, 30)):
            said = (
                f'  File "{self.chance.choice(_FILES)}", line {self.chance.randrange(40, 3000)}'
                f" in {self.chance.choice(_FUNCTIONS)}"
            )
            self.tape.add(self.at_s + 0.7 + at * 1e-4, self.rank, "train", "ERROR", said)

    def _list(self, after_s: float, source: str, said: Sequence[str]) -> None:
        for at, text in enumerate(said):
            self.tape.add(self.at_s + after_s + at * 1e-4, self.rank, source, "ERROR", text)

    def _glog(self, after_s: float, line: int, text: str, level: str = "ERROR") -> None:
        at = clock(self.at_s + after_s)
        head = (
            f"[rank{self.rank}]:[E{at[5:7]}{at[8:10]} {at[11:19]}."
            f"{self.chance.randrange(10**9):09d} ProcessGroupNCCL.cpp:{line}] "
        )
        self.tape.add(self.at_s + after_s, self.rank, "nccl", level, head + text)

    def _watchdog(self) -> None:
        rank, chance = self.rank, self.chance
        said = f"[Rank {rank}] Watchdog caught collective operation timeout: {self.work}"
        self._glog(0, 629, said)
        said = (
            f"[{_POOL} {rank}]  failure detected by watchdog at work sequence id: {_SEQUENCE}"
            f" PG status: last enqueued work: {_SEQUENCE + 3},"
            f" last completed work: {_SEQUENCE - 1}"
        )
        self._glog(0.05, 2168, said)
        for at in range(60):
            line = chance.choice([1790, 1804, 1811])
            said = (
                f"[Rank {rank}] FlightRecorder entry {at}: pg default_pg"
                f" seq {_SEQUENCE - 60 + at} {chance.choice(_CALLS)}"
                f" state {'completed' if at < 59 else 'scheduled'}"
                f" size [[{chance.randrange(10**4, 10**8)}]] dtype BFloat16"
            )
            self._glog(0.1 + at * 0.001, line, said, "INFO")
        said = (
            "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA"
            " kernels, subsequent GPU operations might run on corrupted/incomplete data."
        )
        self._glog(0.3, 681, f"[Rank {rank}] {said}")
        said = "To avoid data inconsistency, we are taking the entire process down."
        self._glog(0.3, 695, f"[Rank {rank}] {said}")
        self._glog(0.4, 1895, self.ended)

    def _frames(self) -> list[str]:
        def at() -> str:
            return f"(0x7b{self.tape.hex(10)} in "

        return [
            "Exception raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/"
            "ProcessGroupNCCL.cpp:632 (most recent call first):",
            "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96"
            f" {at()}{_LIBS}/libc10.so)",
            "frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::"
            "duration<long, std::ratio<1l, 1000l> > >) + 0x2b4"
            f" {at()}{_LIBS}/libtorch_cuda.so)",
            "frame #2: c10d::ProcessGroupNCCL::watchdogHandler() + 0x890"
            f" {at()}{_LIBS}/libtorch_cuda.so)",
            "frame #3: c10d::ProcessGroupNCCL::ncclCommWatchdog() + 0x14d"
            f" {at()}{_LIBS}/libtorch_cuda.so)",
            f"frame #4: <unknown function> + 0x145c0 {at()}{_LIBS}/libtorch.so)",
            f"frame #5: <unknown function> + 0x9caa4 {at()}/lib/x86_64-linux-gnu/libc.so.6)",
            "",
        ]


def _summary(tape: Tape, at_s: float, host: int) -> None:
    """What torchrun prints for a host."""
    said_s = at_s + 124 + tape.chance.random()
    first = host * tape.gpus
    guilty = tape.root_rank // tape.gpus == host
    rank, code = (tape.root_rank, 1) if guilty else (first, -6)
    local, pid, name = rank % tape.gpus, tape.pids[first], tape.hosts[host]
    where = "torch/distributed/elastic/multiprocessing/api.py"
    said = f"W {where}:900] Sending process {pid} closing signal SIGTERM"
    tape.add(said_s, first, "launcher", "WARN", said)
    said = (
        f"E {where}:874] failed (exitcode: {code}) local_rank: {local} (pid: {pid})"
        " of binary: /opt/venv/bin/python"
    )
    tape.add(said_s + 0.3, first, "launcher", "ERROR", said)
    for said in (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "=" * 60,
        "pretrain_gpt.py FAILED",
        "-" * 60,
        "Root Cause (first observed failure):",
        f"[0]:  time      : {clock(said_s)[:-4]}  host      : {name}  rank      : {rank}"
        f" (local_rank: {local})  exitcode  : {code} (pid: {pid})  error_file: <N/A>",
        "=" * 60,
    ):
        tape.add(said_s + 0.4, first, "launcher", "ERROR", said)
    day, _, time = clock(at_s + 126)[:-4].partition(" ")
    said = f"slurmstepd: error: *** STEP 48213.3 ON {name} CANCELLED AT {day}T{time} ***"
    tape.add_host(said_s + 2, host, "slurm", "ERROR", said)
