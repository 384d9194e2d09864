from apps.rollbacks.domain.together import Found, Saved, together

HF = (
    "config.json", "model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state_0.pth",
    "trainer_state.json", "training_args.bin",
)  # fmt: skip


def parts(files, framework="hf_trainer", optimizer=True, skip=(), **fields):
    saved = Saved(900, framework, files, optimizer, **fields)
    return {part.name: part for part in together(saved, skip)}


def test_a_whole_checkpoint_of_the_trainer_has_its_parts():
    found = parts(HF)
    there = {name for name, part in found.items() if part.found is Found.THERE}
    assert there == {
        "step", "data position", "random numbers", "learning rate", "optimizer moments"
    }  # fmt: skip
    assert found["step"].note == "the first new step is 901"


def test_weights_alone_say_what_is_missing():
    found = parts(("config.json", "model.safetensors"), optimizer=False)
    missing = {name for name, part in found.items() if part.found is Found.MISSING}
    assert missing == {"data position", "random numbers", "learning rate", "optimizer moments"}


def test_shards_that_hold_everything_tell_nothing():
    found = parts(("__0_0.distcp", ".metadata"), "torch_dcp", optimizer=None)
    assert found["random numbers"].found is Found.UNKNOWN
    assert found["optimizer moments"].found is Found.UNKNOWN


def test_the_data_position_and_the_skip_list_are_spelled_out():
    found = parts(HF, skip=((1_000, 1_100),), samples=230_400.0, tokens=943_718_400.0)
    assert found["data position"].note.startswith("at 230,400 samples and 943,718,400 tokens; ")
    assert found["data to skip"].note.startswith("steps 1,000 to 1,100: ")
    assert parts(HF)["data to skip"].note.startswith("nothing is asked for")
