# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""save() and load(): runs go on as if nothing had been, files are safetensors, and bad files change nothing."""

import io
import json

import numpy as np
import pytest
from conftest import run_ranks

import gradstep

RULES = [
    (gradstep.SGD, {"momentum": 0.9, "dampening": 0.3, "first_step": "copy"}),
    (gradstep.RMSProp, {"centered": True, "momentum": 0.9}),
    (gradstep.AdaGrad, {"initial_accumulator": 0.1, "lr_decay": 0.01}),
    (gradstep.Adam, {"amsgrad": True}),
    (gradstep.Adam, {"master_weights": True, "stochastic_rounding": True, "state_dtype": "bf16"}),
    (gradstep.Adam, {"state_dtype": "int8"}),
]
SHAPES = [(4, 3), (300,), ()]
NAMES = ["layer/weight", "layer/bias", "scale"]


def identify(value):
    return "-".join(value) if isinstance(value, dict) else value.__name__


def gradients(random, steps):
    return [[random.standard_normal(shape).astype(np.float32) for shape in SHAPES] for _ in range(steps)]


def train(optimizer, parameters, grads):
    for step in grads:
        optimizer.step(parameters, step)


def adam(parameters, **options):
    return gradstep.Adam(parameters, names=NAMES, learning_rate=0.03, **options)


def trained(random, **options):
    parameters = [np.ones(shape, np.float32) for shape in SHAPES]
    optimizer = adam(parameters, **options)
    train(optimizer, parameters, gradients(random, 3))
    return optimizer, parameters


@pytest.mark.parametrize(("rule", "options"), RULES, ids=identify)
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(rule, options, tmp_path, random):
    dtype = np.float16 if "master_weights" in options else np.float32
    grads = gradients(random, 12)
    grads[0][1] = None  # its first step comes after the file
    grads[1:6] = [[step[0], None, step[2]] for step in grads[1:6]]
    parameters = [np.ones(shape, dtype) for shape in SHAPES]
    whole = rule(parameters, learning_rate=0.03, **options)
    train(whole, parameters, grads)

    resumed = [np.ones(shape, dtype) for shape in SHAPES]
    first = rule(resumed, learning_rate=0.03, **options)
    train(first, resumed, grads[:6])
    first.save(tmp_path / "state")
    second = rule(resumed, learning_rate=0.03, **options)
    second.load(str(tmp_path / "state"))
    assert second.step_count == 6
    train(second, resumed, grads[6:])
    assert [p.tobytes() for p in parameters] == [p.tobytes() for p in resumed]


def test_a_new_optimizer_of_the_same_options_goes_on(tmp_path):
    parameters, gradients = [np.ones(3, np.float32)], [np.full(3, 2, np.float32)]
    path = tmp_path / "adam.safetensors"
    # docs:begin save
    optimizer = gradstep.Adam(parameters, learning_rate=1e-2)
    optimizer.step(parameters, gradients)
    optimizer.save(path)

    resumed = gradstep.Adam(parameters, learning_rate=1e-2)  # with the options of the first one
    resumed.load(path)
    # docs:end save
    assert resumed.step_count == 1
    assert (resumed.state(0, "exp_avg") == optimizer.state(0, "exp_avg")).all()


class Trickle(io.RawIOBase):
    """Takes and gives a few bytes at a time, as sockets do."""

    def __init__(self, held=b""):
        self.held = io.BytesIO(held)

    def write(self, data):
        return self.held.write(bytes(data[:100]))

    def read(self, size=-1):
        return self.held.read(min(size, 7))


def test_file_objects_hold_what_files_do(tmp_path, random):
    optimizer, parameters = trained(random)
    optimizer.save(tmp_path / "state")
    in_memory, trickle = io.BytesIO(), Trickle()
    optimizer.save(in_memory)
    optimizer.save(trickle)
    whole = (tmp_path / "state").read_bytes()
    assert in_memory.getvalue() == trickle.held.getvalue() == whole
    in_memory.seek(0)
    for file in (in_memory, Trickle(whole)):
        other = adam(parameters)
        other.load(file)
        assert other.step_count == 3
        assert all((other.state(i, "exp_avg") == optimizer.state(i, "exp_avg")).all() for i in range(len(SHAPES)))


def test_accumulators_reducers_and_updaters_take_file_objects():
    parameters = [np.zeros(3)]
    accumulator = gradstep.Accumulator(parameters, steps=2)
    accumulator.add([np.ones(3)])
    reducer = gradstep.Reducer(gradstep.Communicator.local(1)[0], parameters)
    updater = gradstep.Updater(gradstep.SGD(parameters, learning_rate=1.0))
    for saved in (accumulator, reducer, updater):
        file = io.BytesIO()
        saved.save(file)
        file.seek(0)
        saved.load(file)
    assert accumulator.count == 1


def test_what_a_file_object_raises_comes_out_as_it_was(random):
    optimizer, _ = trained(random)

    class Full(io.RawIOBase):
        def write(self, data):
            raise MemoryError("the bucket is full")

    class Gone(io.RawIOBase):
        def read(self, size=-1):
            raise KeyError("no such object")

    class Greedy(io.RawIOBase):
        def write(self, data):
            return len(data) + 1

        def read(self, size=-1):
            return bytes(size + 1)

    before = optimizer.state(1, "exp_avg").copy()
    with pytest.raises(MemoryError, match="the bucket is full"):
        optimizer.save(Full())
    with pytest.raises(KeyError, match="no such object"):
        optimizer.load(Gone())
    with pytest.raises(OSError, match=r"write: took \d+ of \d+ bytes"):
        optimizer.save(Greedy())
    with pytest.raises(OSError, match=r"read: gave \d+ bytes, expected at most \d+"):
        optimizer.load(Greedy())
    with pytest.raises(TypeError):
        optimizer.save(io.StringIO())  # text
    with pytest.raises(TypeError, match=r"path: expected a path, or a binary file with write\(\), found int"):
        optimizer.save(3)
    with pytest.raises(TypeError, match=r"path: expected a path, or a binary file with read\(\), found NoneType"):
        optimizer.load(None)
    with pytest.raises(gradstep.Corrupt):
        optimizer.load(io.BytesIO(b"nothing of the kind"))
    assert optimizer.step_count == 3 and (optimizer.state(1, "exp_avg") == before).all()


def test_files_are_safetensors(tmp_path, random):
    safetensors = pytest.importorskip("safetensors.numpy")
    optimizer, _ = trained(random)
    optimizer.save(tmp_path / "adam.safetensors")
    tensors = safetensors.load_file(tmp_path / "adam.safetensors")
    for i, name in enumerate(NAMES):
        for state in ("exp_avg", "exp_avg_sq"):
            stored = tensors[f"{name}/{state}"]
            assert stored.shape == SHAPES[i] and stored.dtype == np.float32
            assert stored.tobytes() == optimizer.state(i, state).tobytes()
    assert tensors["gradstep.checksum"].dtype == np.uint64
    with open(tmp_path / "adam.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    assert header["__metadata__"]["gradstep.format"] == "1"
    assert "gradstep.kind" in header["__metadata__"]


def test_files_of_other_programs_need_a_word(tmp_path, random):
    safetensors = pytest.importorskip("safetensors.numpy")
    from safetensors import safe_open

    optimizer, parameters = trained(random)
    optimizer.save(tmp_path / "ours")
    with safe_open(tmp_path / "ours", "numpy") as file:
        metadata = file.metadata()
    tensors = safetensors.load_file(tmp_path / "ours")
    del tensors["gradstep.checksum"]
    tensors["scale/exp_avg"][...] = 7
    safetensors.save_file(tensors, tmp_path / "edited", metadata)
    other = adam(parameters)
    with pytest.raises(gradstep.Corrupt):
        other.load(tmp_path / "edited")
    assert other.step_count == 0
    other.load(tmp_path / "edited", allow_unchecked=True)
    assert other.step_count == 3 and other.state(2, "exp_avg") == 7


def test_bad_files_change_nothing(tmp_path, random):
    optimizer, parameters = trained(random)
    path = tmp_path / "state"
    optimizer.save(path)
    good = path.read_bytes()
    other = adam(parameters)
    for at in (3, 20, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        with pytest.raises(gradstep.Corrupt):
            other.load(path)
        path.write_bytes(good[:at])
        with pytest.raises(gradstep.Corrupt):
            other.load(path)
    path.write_bytes(good)
    with pytest.raises(gradstep.Mismatch):
        gradstep.SGD(parameters, names=NAMES, learning_rate=0.1, momentum=0.9).load(path)
    with pytest.raises(gradstep.Mismatch, match="no parameter 'other'"):
        gradstep.Adam(parameters, names=["other", *NAMES[1:]], learning_rate=0.1).load(path)
    with pytest.raises(gradstep.InputOutputError):
        other.load(tmp_path / "nowhere")
    with pytest.raises(gradstep.InputOutputError):
        other.save(tmp_path / "no" / "folder")
    assert other.step_count == 0 and not other.state(0, "exp_avg").any()
    other.load(path)
    assert other.step_count == 3


def test_saving_replaces_a_file_whole(tmp_path, random):
    optimizer, parameters = trained(random)
    path = tmp_path / "state"
    path.write_bytes(b"something older and longer" * 10000)
    optimizer.save(path)
    adam(parameters).load(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["state"], "nothing is left beside it"


def test_a_state_that_no_load_takes_leaves_the_file_in_its_place(tmp_path, random):
    optimizer, parameters = trained(random)
    for own in (optimizer, gradstep.Updater(optimizer)):
        path = tmp_path / type(own).__name__
        own.save(path)
        before = path.read_bytes()
        optimizer.step(parameters, [np.full_like(parameter, np.nan) for parameter in parameters])
        with pytest.raises(gradstep.NumericError, match=r"exp_avg' holds NaN or infinity"):
            own.save(path)
        assert path.read_bytes() == before
        optimizer.load(tmp_path / type(optimizer).__name__)
    assert len(list(tmp_path.iterdir())) == 2, "nothing is left beside them"


def test_an_open_window_goes_on(tmp_path, random):
    parameters = [np.zeros(5, np.float32), np.zeros(3, np.float32)]
    grads = [[random.standard_normal(5).astype(np.float32), None] for _ in range(4)]
    whole, first, second = (gradstep.Accumulator(parameters, steps=4, may_be_unused=True) for _ in range(3))
    assert [whole.add(micro) for micro in grads][-1]
    for micro in grads[:2]:
        first.add(micro)
    first.save(tmp_path / "window")
    second.load(tmp_path / "window")
    assert second.count == 2
    assert [second.add(micro) for micro in grads[2:]] == [False, True]
    assert second.gradients()[0].tobytes() == whole.gradients()[0].tobytes()


def test_reducers_and_updaters_round_trip(tmp_path, random):
    parameters = [np.zeros(5, np.float32)]

    def make():
        p = [np.zeros(5, np.float32)]
        optimizer = gradstep.Adam(p, learning_rate=0.1)
        window = gradstep.Accumulator(p, steps=3)
        reducer = gradstep.Reducer(gradstep.Communicator.self(), p)
        return p, optimizer, reducer, gradstep.Updater(optimizer, window, reducer)

    grads = [[random.standard_normal(5).astype(np.float32)] for _ in range(6)]
    p, _, reducer, updater = make()
    q, _, other_reducer, other_updater = make()
    for grad in grads[:4]:
        updater.push(p, grad)
    updater.save(tmp_path / "updater")
    reducer.save(tmp_path / "reducer")
    other_updater.load(tmp_path / "updater")
    other_reducer.load(tmp_path / "reducer")
    q[0][:] = p[0]
    for grad in grads[4:]:
        assert updater.push(p, grad) == other_updater.push(q, grad)
    assert p[0].tobytes() == q[0].tobytes() and p[0].any()
    with pytest.raises(gradstep.Mismatch):
        gradstep.Accumulator(parameters, steps=3).load(tmp_path / "updater")


@pytest.mark.parametrize("loading", [1, 3])
def test_a_sharded_optimizer_saves_what_any_number_of_ranks_loads(loading, tmp_path, random):
    shapes = [(300, 200), (70000,), (3,)]
    grads = [[random.standard_normal(shape).astype(np.float32) for shape in shapes] for _ in range(6)]
    path = tmp_path / "state"

    def make(comm):
        parameters = [np.ones(shape, np.float32) for shape in shapes]
        optimizer = gradstep.Adam(parameters, learning_rate=0.1)
        optimizer.shard(comm, gradients="reduced")
        return parameters, optimizer

    def saving(comm):
        parameters, optimizer = make(comm)
        train(optimizer, parameters, grads[:3])
        optimizer.save(path if comm.rank == 0 else None)
        return parameters

    middle = run_ranks(2, saving)[0]

    def resuming(comm):
        parameters, optimizer = make(comm)
        optimizer.load(path)
        for p, saved in zip(parameters, middle, strict=True):
            p[...] = saved
        train(optimizer, parameters, grads[3:])
        return [p.tobytes() for p in parameters]

    whole = [np.ones(shape, np.float32) for shape in shapes]
    train(gradstep.Adam(whole, learning_rate=0.1), whole, grads)
    for result in run_ranks(loading, resuming):
        assert result == [p.tobytes() for p in whole]
