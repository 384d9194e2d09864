"""What each threshold of the loss detector means, in which unit, and how far it may be moved."""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """help: what a larger value does or what it is. low, high: the sensible range."""

    help: str
    unit: str
    low: float
    high: float


SD = "robust standard deviations"
SHARE = "share of the level"
ROWS = "logged rows"
TIMES = "times"
LEARNT = "share of what was learnt"

GROUPS = {
    "": "All tests",
    "up": "Loss above its band",
    "down": "Loss below its band",
    "slow": "Slow divergence",
    "gradient": "Gradient norm",
    "numerics": "NaN, infinity and loss scale",
    "lr": "Jumps of the learning rate",
    "slow_short": "Slow divergence, in few rows",
    "counts": "Jumps of batch size, sequence length and data",
    "context": "Schedule and reach of changes",
    "explain": "What a wanted change explains",
    "gap": "Missing losses",
    "plateau": "Plateau",
}
"""First part of a slug -> heading."""

WORDS: dict[str, Words] = {
    "SpikePolicy.min_rows": Words("rows before the first verdict on the loss", ROWS, 10, 1_000),
    "SpikePolicy.drop_min_rows": Words(
        "rows before a falling loss is looked at: steep descents are normal at first",
        ROWS,
        30,
        10_000,
    ),
    "SpikePolicy.restart_rows": Words(
        "rows of a new attempt in which an excursion counts as its restart transient", ROWS, 0, 200
    ),
    "SpikePolicy.walk_back_z": Words(
        "the onset is the first row of the climb that was at least this far out", SD, 1, 20
    ),
    "SpikePolicy.walk_back_excess": Words("and at least this much above the level", SHARE, 0, 0.5),
    "SpikePolicy.lr_rows": Words(
        "a jump of the learning rate this shortly before an onset is named as evidence",
        ROWS,
        1,
        500,
    ),
    "SpikePolicy.info_z": Words(
        "single rows further out than this are recorded as outliers", SD, 3, 100
    ),
    "EpisodePolicy.open_z": Words("a row further out than this opens an episode", SD, 2, 50),
    "EpisodePolicy.open_excess": Words("and further from the level than this", SHARE, 0.001, 2),
    "EpisodePolicy.judge_row": Words(
        "rows of the episode that are waited for before it may page", ROWS, 2, 200
    ),
    "EpisodePolicy.page_z": Words("pages when the median of 5 rows is this far out", SD, 1, 50),
    "EpisodePolicy.page_excess": Words("and this far from the level", SHARE, 0.001, 5),
    "EpisodePolicy.page_z_long": Words(
        "pages, too, when the median of 10 rows is this far out", SD, 1, 50
    ),
    "EpisodePolicy.page_excess_long": Words("and this far from the level", SHARE, 0.001, 5),
    "EpisodePolicy.explosion_peak": Words(
        "an excursion whose peak is further from the level is called an explosion",
        SHARE,
        0.05,
        100,
    ),
    "EpisodePolicy.explosion_excess": Words(
        "so is one whose 5-row median is further from it", SHARE, 0.05, 100
    ),
    "EpisodePolicy.heal_share": Words(
        "a large excursion that is back below this share of its peak is left to heal",
        "share of the peak",
        0.01,
        0.9,
    ),
    "EpisodePolicy.heal_half_rows": Words(
        "that share halves every so many rows: the time an excursion has to heal", ROWS, 1, 200
    ),
    "EpisodePolicy.heal_floor": Words(
        "but is never less than this", "share of the peak", 0.001, 0.5
    ),
    "EpisodePolicy.calm_z": Words(
        "an episode is over when the median of 10 rows is this near the level", SD, 0.5, 10
    ),
    "EpisodePolicy.calm_z_paged": Words("the same, when it has paged", SD, 0.5, 10),
    "EpisodePolicy.calm_excess": Words("or nearer than this", SHARE, 0.0001, 0.5),
    "EpisodePolicy.trend_rows": Words(
        "rows over which the descent before the episode is carried on", ROWS, 0, 10_000
    ),
    "EpisodePolicy.outlier_rows": Words(
        "so many outlying rows are an outlier and no spike", ROWS, 0, 50
    ),
    "EpisodePolicy.give_up_rows": Words(
        "an episode that never paged becomes the new level after this", ROWS, 20, 10_000
    ),
    "EpisodePolicy.settle_rows": Words("one that paged, after this", ROWS, 60, 100_000),
    "EpisodePolicy.grace_rows": Words(
        "how long a restart transient must last to page", ROWS, 0, 1_000
    ),
    "SlowPolicy.window": Words("rows whose median is compared with the best", ROWS, 10, 2_000),
    "SlowPolicy.hold": Words("how long it must stay above the best to page", ROWS, 3, 5_000),
    "SlowPolicy.noise_rows": Words("rows that say how noisy the loss is", ROWS, 50, 5_000),
    "SlowPolicy.start_row": Words("first row that may page", ROWS, 30, 100_000),
    "SlowPolicy.until_row": Words("last row that may page", ROWS, 100, 10**9),
    "SlowPolicy.far": Words("a rise above this", SHARE, 0.01, 5),
    "SlowPolicy.noise_far": Words("needs only this over the noise", SD, 0.1, 20),
    "SlowPolicy.noise": Words("how far above the best it must be", SD, 0.3, 20),
    "SlowPolicy.excess": Words("and how much of the best that must be", SHARE, 0.001, 1),
    "GradientPolicy.window": Words("rows that say what the usual norm is", ROWS, 30, 5_000),
    "GradientPolicy.rows": Words("rows whose median is compared with it", ROWS, 1, 100),
    "GradientPolicy.min_rows": Words("rows before the first verdict", ROWS, 10, 5_000),
    "GradientPolicy.page_ratio": Words(
        "pages above so many times the usual norm", TIMES, 1.5, 1_000
    ),
    "GradientPolicy.calm_ratio": Words("is over below so many times", TIMES, 1.1, 500),
    "GradientPolicy.settle_rows": Words(
        "a norm that stays high becomes the usual one after this", ROWS, 60, 100_000
    ),
    "EpisodePolicy.fast_rows": Words(
        "rows out of the band that page at once, unless they fall back", ROWS, 2, 10
    ),
    "EpisodePolicy.fast_share": Words(
        "fallen back: below this share of the peak", "share of the peak", 0.05, 0.95
    ),
    "EpisodePolicy.growth_ratio": Words(
        "three rows that each are so many times as far out as the one before page at once",
        TIMES,
        1.05,
        10,
    ),
    "EpisodePolicy.growth_z": Words("if the first of them is this far out", SD, 1, 20),
    "EpisodePolicy.urgent_rows": Words(
        "rows out of the band that page under a learning rate beyond its schedule", ROWS, 1, 10
    ),
    "EpisodePolicy.planned_rows": Words(
        "a wanted shift becomes the new level after this", ROWS, 5, 1_000
    ),
    "EpisodePolicy.planned_growth": Words(
        "a wanted shift that grows by more than this pages after all", TIMES, 1.1, 10
    ),
    "SlowPolicy.noise_urgent": Words(
        "the same under a learning rate beyond its schedule", SD, 0.3, 20
    ),
    "GradientPolicy.page_spreads": Words(
        "and above the usual spread of the norm to this power", "spreads", 1, 20
    ),
    "GradientPolicy.growing_rows": Words("rows that each grow page at once", ROWS, 2, 5),
    "GradientPolicy.growth": Words("if each is so many times the one before", TIMES, 1.05, 10),
    "ContextPolicy.beyond": Words(
        "a learning rate is beyond its schedule above so many times its peak", TIMES, 1.02, 10
    ),
    "ContextPolicy.rewarmed": Words(
        "a schedule has warmed up again above so many times its lowest rate", TIMES, 1.05, 10
    ),
    "ContextPolicy.peak_rows": Words(
        "rows without a new maximum after which its peak is known", ROWS, 5, 1_000
    ),
    "ContextPolicy.warm_up_rows": Words(
        "first rows that count as warm-up where no learning rate is logged", ROWS, 0, 10_000
    ),
    "ContextPolicy.count_reach_rows": Words(
        "rows after a change of batch or sequence that it explains", ROWS, 1, 1_000
    ),
    "ContextPolicy.data_reach_rows": Words(
        "rows after a change of the data that it explains", ROWS, 1, 5_000
    ),
    "ContextPolicy.lr_reach_rows": Words(
        "rows after a change of the learning rate that it explains", ROWS, 1, 5_000
    ),
    "ExplainPolicy.sum_tolerance": Words(
        "how far a summed loss may be from the ratio of its batches", "|ln ratio|", 0.02, 1
    ),
    "ExplainPolicy.excess": Words(
        "largest shift that another batch size or sequence length explains", SHARE, 0.01, 5
    ),
    "ExplainPolicy.rate_share": Words(
        "largest loss of learning that a learning rate within its schedule explains", LEARNT, 0, 5
    ),
    "ExplainPolicy.data_share": Words("that other data explain", LEARNT, 0, 10),
    "ExplainPolicy.data_share_at_once": Words(
        "that other data explain if the shift only gets smaller", LEARNT, 0, 100
    ),
    "ExplainPolicy.at_once_growth": Words(
        "gets smaller: the last rows over the first ones", TIMES, 0.5, 3
    ),
    "ExplainPolicy.plan_share": Words("that a planned change explains", LEARNT, 0, 10),
    "ExplainPolicy.warm_up_share": Words("that warm-up explains", LEARNT, 0, 2),
    "ExplainPolicy.growth": Words("a shift that grows by more is not explained", TIMES, 1.05, 10),
    "ExplainPolicy.growth_share": Words("if it is larger than this", LEARNT, 0, 5),
    "ExplainPolicy.slow_rows": Words(
        "rows before a slow rise in which a change explains it", ROWS, 1, 5_000
    ),
    "ExplainPolicy.round_tolerance": Words(
        "how near a round factor a loss must be to look like a sum", "|ln ratio|", 0.01, 0.2
    ),
    "ExplainPolicy.flat": Words(
        "how flat it must stay: its furthest row over its nearest", TIMES, 1.05, 10
    ),
    "ExplainPolicy.grad_low": Words(
        "its gradient norm is at least so many times the root of the factor", TIMES, 0.3, 1
    ),
    "ExplainPolicy.grad_high": Words("and at most so many times the factor", TIMES, 1, 3),
    "GapPolicy.times": Words("losses that must have been due", TIMES, 1, 100),
    "GapPolicy.rows": Words("and rows without one", ROWS, 1, 1_000),
    "GapPolicy.wait_s": Words("for at least so long", "seconds", 0, 86_400),
    "GapPolicy.min_losses": Words("losses before the first verdict", "losses", 2, 1_000),
    "PlateauPolicy.min_rows": Words("rows before the first verdict", ROWS, 128, 1_000_000),
    "PlateauPolicy.share": Words(
        "a doubling of the rows that gains less of what the one before gained has stopped",
        "share of the gain before",
        0.001,
        0.5,
    ),
    "PlateauPolicy.gain": Words("the one before must have gained this much", SHARE, 0.001, 1),
    "PlateauPolicy.noises": Words("and so much over the noise", SD, 0.1, 20),
    "PlateauPolicy.rate_share": Words(
        "a learning rate below this share of its peak explains the end of learning",
        "share of the peak",
        0.01,
        1,
    ),
    "NumericsPolicy.loss_rows": Words(
        "losses that are no numbers page from this many on", ROWS, 1, 10
    ),
    "NumericsPolicy.loss_window": Words("of the last so many", ROWS, 1, 10),
    "NumericsPolicy.grad_rows": Words(
        "gradient norms that are no numbers page from this many on", ROWS, 1, 10
    ),
    "NumericsPolicy.grad_window": Words("of the last so many", ROWS, 1, 10),
    "NumericsPolicy.start_rows": Words(
        "first rows in which gradients and loss scale page nobody: a scaler finds its scale",
        ROWS,
        0,
        10_000,
    ),
    "NumericsPolicy.scale_window": Words("rows in which the loss scale is watched", ROWS, 2, 10),
    "NumericsPolicy.scale_halvings": Words(
        "pages when the scale halves so often within them", "halvings", 1, 20
    ),
    "NumericsPolicy.calm_rows": Words("rows of numbers after which it is over", ROWS, 2, 10),
    "ChangePolicy.ratio": Words(
        "a learning rate that changes by more in one row", TIMES, 1.01, 100
    ),
    "ChangePolicy.surprise": Words("and by more than the usual change", TIMES, 1, 1_000),
    "ChangePolicy.history_rows": Words("rows that say what a usual change is", ROWS, 3, 1_000),
    "ChangePolicy.min_rows": Words("rows before the first verdict", ROWS, 1, 1_000),
}
"""Class and field of a policy -> words. A field that is not here is shown by its name, and may be
moved by a factor of ten."""

ORDERED = (
    ("numerics.loss_rows", "numerics.loss_window"),
    ("numerics.grad_rows", "numerics.grad_window"),
    ("gradient.calm_ratio", "gradient.page_ratio"),
    ("up.calm_z", "up.open_z"),
    ("down.calm_z", "down.open_z"),
)
"""(slug, slug): the first must not be above the second."""
