"""logs.domain.joblines"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.reading import joblines
from apps.logs.domain.reading.joblines import FORMATS, formats_in, job_rows, row_of
from tests.log_samples import parse

MEGATRON = (
    " iteration      {step}/  500000 | consumed samples:        25600 |"
    " elapsed time per iteration (ms): 1234.5 | learning rate: 1.500E-05 |"
    " global batch size:   256 |{loss} loss scale: 1.0 |{norm}"
    " number of skipped iterations:   {skipped} | number of nan iterations:   {nan} |"
)
LINES = [
    (
        "[Rank 0] step=100, skipped=2, lr=[0.0001, 0.0001], mom=[(0.9, 0.999)]",
        100,
        {"log/skipped steps": 2.0, "log/lr": 0.0001},
    ),
    (
        "iteration    45000/  115311 | elapsed time per iteration (s): 111.00 | learning rate:"
        " 4.298E-05 | lm loss: 2.5E+00 | TFLOPs: 141.26 |",
        45000,
        {
            "log/elapsed time per iteration (s)": 111.0,
            "log/learning rate": 4.298e-5,
            "log/lm loss": 2.5,
            "log/TFLOPs": 141.26,
        },
    ),
    (
        "valid loss at iteration 45000 | lm loss value: 2.5E+00 | lm loss PPL: 1.0E+01 |",
        45000,
        {"log/validation/lm loss value": 2.5, "log/validation/lm loss PPL": 10.0},
    ),
    (
        "iteration 7/ 9 | elapsed time per iteration (s): 105.5 | learning",
        7,
        {"log/elapsed time per iteration (s)": 105.5},
    ),
    (
        "s:250 trl:3.5 lr:0.0018 norm:0.25",
        250,
        {"log/train loss": 3.5, "log/lr": 0.0018, "log/grad norm": 0.25},
    ),
    ("s:250 tel:3.25", 250, {"log/val loss": 3.25}),
    (
        "steps: 10 loss: 8.1234 iter time (s): 0.123 samples/sec: 65.001",
        10,
        {"log/loss": 8.1234, "log/iter time (s)": 0.123, "log/samples/sec": 65.001},
    ),
    (
        "epoch=0/micro_step=80/global_step=40, RunningAvgSamplesPerSec=12.5,"
        " CurrSamplesPerSec=13.5, MemAllocated=1.0GB, MaxMemAllocated=2.0GB",
        40,
        {"log/RunningAvgSamplesPerSec": 12.5, "log/CurrSamplesPerSec": 13.5},
    ),
    (
        "step: 10  loss:  7.1234  grad_norm:  1.2345  memory: 24.14GiB(30.48%)  tps: 5,123"
        "  tflops: 123.45  mfu: 12.34%",
        10,
        {
            "log/loss": 7.1234,
            "log/grad_norm": 1.2345,
            "log/tps": 5123.0,
            "log/tflops": 123.45,
            "log/mfu (%)": 12.34,
        },
    ),
    (
        "validate step: 10  loss:  7.5000  memory: 24.14GiB(30.48%)  tps: 5,123",
        10,
        {"log/validation/loss": 7.5, "log/validation/tps": 5123.0},
    ),
    (
        "Training epoch 0, iteration 9/99 | lr: 3e-07 | global_batch_size: 512 | global_step: 9"
        " | reduced_train_loss: 11.03 | train_step_timing in s: 12.5",
        9,
        {
            "log/lr": 3e-7,
            "log/global_batch_size": 512.0,
            "log/reduced_train_loss": 11.03,
            "log/train_step_timing in s": 12.5,
        },
    ),
    (
        "{'loss': 1.25, 'grad_norm': inf, 'learning_rate': 5e-05, 'epoch': 0.1, 'step': 12}",
        12,
        {
            "log/loss": 1.25,
            "log/grad_norm": math.inf,
            "log/learning_rate": 5e-5,
            "log/epoch": 0.1,
        },
    ),
    (
        "step 250: train loss 2.4000, val loss 2.5000",
        250,
        {"log/eval/train loss": 2.4, "log/eval/val loss": 2.5},
    ),
    (
        "iter 100: loss 2.3456, time 50.12ms, mfu 40.12%",
        100,
        {"log/loss": 2.3456, "log/iteration time (ms)": 50.12, "log/mfu (%)": 40.12},
    ),
    (
        "step:10/1000 train_loss:3.2 train_time:1000ms step_avg:100.0ms",
        10,
        {"log/train_loss": 3.2, "log/step time (ms)": 100.0},
    ),
    (
        "step   10/19560 | loss 10.1 (+nanz)| norm 15.3 (+nanz)| lr 1.00e-06 | 300.1 ms"
        " | 58.1% bf16 MFU | 1700000 tok/s",
        10,
        {"log/loss": 10.1, "log/grad norm": 15.3, "log/lr": 1e-6},
    ),
    (
        "Epoch 1 | iter 10 step 2 | loss train: 10.9, val: n/a | iter time: 350.10 ms (step)",
        2,
        {"log/train loss": 10.9, "log/iter time (ms)": 350.1},
    ),
]


def rows_of(*lines):
    text = "\n".join(lines)
    rows = job_rows(lines, range(len(lines)), formats_in(text.encode())).rows
    return [(found.row.step, found.row.values) for found in rows]


def megatron(
    step=1000, loss=" lm loss: 2.310000E+00 |", norm=" grad norm: 0.512 |", skipped=0, nan=0
):
    return MEGATRON.format(step=step, loss=loss, norm=norm, skipped=skipped, nan=nan)


@pytest.mark.parametrize(("line", "step", "values"), LINES, ids=lambda part: str(part)[:24])
def test_each_framework_is_read(line, step, values):
    assert rows_of("before", line, "after") == [(step, values)]


def test_a_megatron_line_is_read_whole():
    ((step, values),) = rows_of(megatron())
    assert (step, values["log/lm loss"], values["log/grad norm"]) == (1000, 2.31, 0.512)
    assert values["log/learning rate"] == 1.5e-5
    assert values["log/number of nan iterations"] == 0.0


def test_a_megatron_validation_line_stands_apart():
    line = " validation loss at iteration 1000 | lm loss value: 2.3E+00 | lm loss PPL: 1.0E+01 | "
    assert rows_of(line) == [
        (1000, {"log/validation/lm loss value": 2.3, "log/validation/lm loss PPL": 10.0})
    ]


@pytest.mark.parametrize(
    "line",
    [
        megatron(loss="", nan=1),
        megatron(loss="", norm=" grad norm: nan |"),
        megatron(loss="", norm=" grad norm: nan |", skipped=1),
        megatron(loss="", norm=""),
    ],
)
def test_a_megatron_line_that_leaves_its_loss_out_says_nan(line):
    ((_, values),) = rows_of(line)
    assert math.isnan(values["log/lm loss"])


def test_a_step_skipped_by_the_loss_scaler_says_nothing_of_the_loss():
    ((_, values),) = rows_of(megatron(loss="", norm="", skipped=1))
    assert "log/lm loss" not in values


def test_a_block_of_indented_lines_is_one_row():
    lines = (
        "[step=10/2000,epoch=0]",
        "    optim/total_grad_norm=1.2",
        "    train/CrossEntropyLoss=11.25",
        "saved",
        "    train/CrossEntropyLoss=1.0",
    )
    values = {"log/optim/total_grad_norm": 1.2, "log/train/CrossEntropyLoss": 11.25}
    assert rows_of(*lines) == [(10, values)]


def test_a_line_without_a_step_is_counted():
    parsed = parse("{'loss': 1.2, 'grad_norm': 0.5, 'learning_rate': 5e-05, 'epoch': 0.1}\n")
    assert (len(parsed.job), parsed.unplaced_job_lines) == (0, 1)


def test_a_row_has_the_time_of_its_line_and_no_rank():
    text = "2026-11-29 19:51:21.906 [INFO] [rank5] train: x\n" + megatron() + "\n"
    (job,) = parse(text).job
    assert (job.line, job.row.rank) == (1, None)
    assert job.row.time_ns == 1_795_981_881_906_000_000


def test_usual_text_is_no_progress_line():
    assert rows_of("step 700 local_loss=1.4 | 'epoch' 3 50%", "loss: 3 at step: 4") == []


LONG = 60_000


@pytest.mark.parametrize("each", FORMATS, ids=lambda each: each.marker)
@pytest.mark.parametrize("tail", ["1" * LONG, "| a: " * (LONG // 5), " " * LONG, "'a': '1" * 9_000])
def test_a_long_line_costs_no_more_than_its_length(each, tail):
    for start in ("iteration 1/ ", "step: 1  loss: ", "[step=1/", "steps: 1 ", "| b: ", "'b': '"):
        job_rows([f"{start}{tail}{each.marker}{start}{tail}x"], [0], [each])


words = st.sampled_from(
    [each.marker for each in FORMATS]
    + ["step=7", "step: 9  ", "iteration 3/", "loss: ", "lm loss: ", "|", "nan", "-1e999", "1,,2"]
) | st.text(max_size=8)


@given(st.lists(st.lists(words, max_size=12).map("".join), max_size=6))
def test_any_text_gives_rows_or_nothing(bodies):
    data = "\n".join(bodies).encode("utf-8", "surrogatepass")
    rows = job_rows(bodies, [0] * len(bodies), formats_in(data)).rows
    assert all(0 <= found.row.step < 2**62 for found in rows)
    assert all(name.startswith("log/") for found in rows for name in found.row.values)


@pytest.mark.parametrize("line", [line for line, *_ in LINES])
@pytest.mark.parametrize("digits", ["1357908642", "0000000000", "9999999999"])
def test_what_stands_where_in_one_line_stands_there_in_all_of_its_shape(line, digits):
    body = line.translate(str.maketrans("0123456789", digits))
    known = next(each for each in FORMATS if each.marker in body)
    rows = job_rows([body], [7], [known]).rows
    assert row_of(known, line, 7) is not None  # its shape is known from here on
    assert [row_of(known, body, 7)] == [one.row for one in rows]


def test_a_name_may_have_digits():
    known = next(each for each in FORMATS if each.family == "huggingface")
    said = [row_of(known, f"{{'loss_{n}': {n}.5, 'epoch': 1.0, 'step': {n}}}", 7) for n in (1, 2)]
    assert [row.values for row in said] == [
        {"log/loss_1": 1.5, "log/epoch": 1.0},
        {"log/loss_2": 2.5, "log/epoch": 1.0},
    ]


def test_shapes_of_long_lines_are_not_kept_in_memory():
    known = next(each for each in FORMATS if each.family == "huggingface")
    joblines.kept_layout.cache_clear()
    for length in (10, joblines.MAX_KEPT_CHARS):
        row = row_of(known, f"{{'loss': 1.5, 'step': 3}} {'x' * length}", 7)
        assert (row.step, row.values) == (3, {"log/loss": 1.5})
    assert joblines.kept_layout.cache_info().currsize == 1
