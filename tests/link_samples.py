"""Outputs of link tests, written to the layout of their tools."""

from __future__ import annotations

import orjson

_HEAD = "# nThread 1 nGpus 1 minBytes 1024 maxBytes 8589934592 step: 8(factor) warmup iters: 5"


def nccl_text(hosts, gb_s, *, gpus=2, old=False, wrong=0, stamp=""):
    """all_reduce_perf over all GPUs of some hosts; old: before the column `root`."""
    lines = [_HEAD, "#", "# Using devices"]
    for place, host in enumerate(hosts):
        for gpu in range(gpus):
            rank = place * gpus + gpu
            lines.append(
                f"#  Rank {rank:2} Group  0 Pid {900 + rank:6} on {host:>10} device {gpu:2}"
                f" [0000:0{gpu}:00] NVIDIA H100 80GB HBM3"
            )
    lines += ["#", "#       size         count      type   redop    root     time   algbw   busbw"]
    for size, part in ((1024, 0.001), (1 << 20, 0.3), (1 << 33, 1.0)):
        busbw = gb_s * part
        ways = f"  35.10  {busbw / 2:.2f}  {busbw:.2f}  {{}}"
        root = "" if old else "      -1"
        errors = ("3e-7", "2e-7") if old else (wrong, 0)
        both = ways.format(errors[0]) + ways.format(errors[1])
        lines.append(f"  {size:12}  {size // 4:12}     float     sum{root}{both}{stamp}")
    lines += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 68.4", "#", ""]
    return "\n".join(lines)


def nccl_json(hosts, gb_s):
    """What `all_reduce_perf -J FILE` writes."""
    devices = [
        {"rank": at, "group": 0, "pid": 900 + at, "hostname": host, "device": 0}
        for at, host in enumerate(hosts)
    ]
    results = [
        {"size": size, "type": "float", "redop": "sum", "root": "-1",
         "out_of_place": {"time": 1.0, "alg_bw": gb_s * part, "bus_bw": gb_s * part, "nwrong": 0.0},
         "in_place": {"time": 1.0, "alg_bw": 0.0, "bus_bw": 0.0, "nwrong": None}}
        for size, part in ((1024, 0.01), (1 << 30, 1.0))
    ]  # fmt: skip
    return orjson.dumps({"version": 1, "env": ["SECRET=x"], "config": {"devices": devices},
                         "results": results}).decode()  # fmt: skip


def perftest(pair, average, *, unit="Gb", peak=None):
    """ib_write_bw, after a line that says between whom."""
    head = f"# pair {pair[0]} {pair[1]}\n" if pair else ""
    return (
        f"{head}{'-' * 80}\n                    RDMA_Write BW Test\n Dual-port       : OFF\n"
        f" #bytes     #iterations    BW peak[{unit}/sec]    BW average[{unit}/sec]  MsgRate\n"
        f" 2          5000             {average / 90:.2f}    {average / 100:.2f}     0.7\n"
        f" 65536      5000             {average if peak is None else peak:.2f}    {average:.2f}"
        f"     0.746174\n{'-' * 80}\n"
    )


def ring_csv(hosts, gbit_s, slow=()):
    """Every pair; those of `slow` at half."""
    rows = ["a,b,gbit_s"]
    for a in hosts:
        rows += [
            f"{a},{b},{gbit_s / (2 if a in slow or b in slow else 1)}" for b in hosts if a != b
        ]
    return "\n".join(rows)
