# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Exceptions through C, the order of destruction, views, forks, and what the package says about itself."""

import gc
import io
import logging
import os
import subprocess
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import gradstep


def test_every_status_has_a_class():
    assert len({cls.status for cls in gradstep.Error.__subclasses__()}) == 15
    assert gradstep.Timeout("x").status_name == "GRADSTEP_ERR_TIMEOUT"
    assert issubclass(gradstep.Timeout, TimeoutError) and issubclass(gradstep.InvalidArgument, ValueError)
    assert issubclass(gradstep.PeerLost, ConnectionError) and issubclass(gradstep.OutOfMemory, MemoryError)


def test_an_exception_of_a_schedule_comes_out_as_it_was():
    error = LookupError("the schedule's own")

    def rate(step):
        if step >= 1:
            raise error
        return 0.1

    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=rate)
    optimizer.step(parameters, [np.ones(2)])
    before = parameters[0].copy()
    with pytest.raises(LookupError) as caught:
        optimizer.step(parameters, [np.ones(2)])
    assert caught.value is error
    assert np.array_equal(parameters[0], before) and optimizer.step_count == 1
    optimizer.set_value("learning_rate", 0.1)
    optimizer.step(parameters, [np.ones(2)])
    with pytest.raises(ValueError, match="immediately"):
        gradstep.SGD(parameters, learning_rate=lambda step: (_ for _ in ()).throw(ValueError("immediately")))
    with pytest.raises(TypeError):
        gradstep.SGD(parameters, learning_rate=lambda step: "fast")


def test_callables_are_released_with_their_owner():
    class Rate:
        def __call__(self, step):
            return 0.1

    rate = Rate()
    alive = weakref.ref(rate)
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=rate)
    optimizer.set_value("weight_decay", rate)
    with pytest.raises(gradstep.InvalidArgument):
        optimizer.set_value("no such thing", rate)
    window = gradstep.Accumulator(parameters, steps=gradstep.schedule.callback(rate, warmup_steps=0))
    del rate
    optimizer.step(parameters, [np.ones(2)])
    assert alive() is not None
    optimizer.set_value("weight_decay", 0.0)
    optimizer.set_value("learning_rate", 0.1)
    assert alive() is not None, "the accumulator still has it"
    del window, optimizer
    gc.collect()
    assert alive() is None


def test_log_gets_records_and_cannot_break_a_call():
    records = []
    context = gradstep.Context(num_threads=1, log=lambda level, text: records.append((level, text)), log_level="debug")
    optimizer = gradstep.SGD([np.zeros(2)], learning_rate=0.1, context=context)
    optimizer.step([np.zeros(2)], [np.ones(2)])
    assert [level for level, _ in records] == ["info"] and "by backend cpu" in records[0][1]
    optimizer.step([np.zeros(2)], [np.full(2, np.nan)], skip_nonfinite=True)
    assert records[-1] == ("warning", "optimizer sgd: step 2 was skipped: the norm of its gradients is nan")
    with pytest.raises(gradstep.InvalidArgument, match="known: off, error, warning, info, debug"):
        gradstep.Context(log_level="loud")
    with pytest.raises(gradstep.InvalidArgument, match="num_threads"):
        gradstep.Context(num_threads=-1)


def test_a_log_that_raises_is_reported_and_fails_nothing(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reported.append(args.exc_value))

    def sink(level, text):
        raise RuntimeError("no disk")

    context = gradstep.Context(num_threads=1, log=sink, log_level="info")
    gradstep.SGD([np.zeros(2)], learning_rate=0.1, context=context)
    assert [str(error) for error in reported] == ["no disk"]


def test_a_logger_gets_records_at_its_levels(caplog):
    with caplog.at_level(logging.WARNING, logger="training"):
        context = gradstep.Context(num_threads=1, log=logging.getLogger("training"))
        optimizer = gradstep.SGD([np.zeros(2)], learning_rate=0.1, context=context)
        optimizer.step([np.zeros(2)], [np.full(2, np.inf)], skip_nonfinite=True)
    assert [(record.name, record.levelname) for record in caplog.records] == [("training", "WARNING")]
    assert caplog.records[0].getMessage().startswith("optimizer sgd: step 1 was skipped")


def test_views_keep_their_owner_alive():
    parameters = [np.zeros((50, 50), np.float32)]
    optimizer = gradstep.Adam(parameters, learning_rate=0.1)
    optimizer.step(parameters, [np.ones((50, 50), np.float32)])
    window = gradstep.Accumulator(parameters, steps=1)
    window.add([np.ones((50, 50), np.float32)])
    reducer = gradstep.Reducer(gradstep.Communicator.self(), parameters)
    reducer.reduce([np.full((50, 50), 3.0, np.float32)])
    views = [optimizer.state(0, "exp_avg")[10:], window.gradients()[0].T, reducer.gradients()[0].ravel()]
    handles = [weakref.ref(owner._handle) for owner in (optimizer, window, reducer)]
    del optimizer, window, reducer
    gc.collect()
    assert all(handle() is not None for handle in handles)
    np.testing.assert_allclose(views[0], 0.1, rtol=1e-6)
    assert (views[1] == 1).all() and (views[2] == 3).all()
    views.clear()
    gc.collect()
    assert all(handle() is None for handle in handles)


def test_order_of_destruction_is_free():
    context = gradstep.Context(num_threads=2)
    parameters = [np.zeros(4)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0, context=context)
    window = gradstep.Accumulator(parameters, steps=1, context=context)
    comm = gradstep.Communicator.self(context=context)
    reducer = gradstep.Reducer(comm, parameters, context=context)
    updater = gradstep.Updater(optimizer, window, reducer, context=context)
    comm.close()
    del context, comm, reducer, window, optimizer
    gc.collect()
    assert updater.push(parameters, [np.ones(4)])
    assert (parameters[0] == -1).all()


def test_a_forked_child_starts_anew():
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    optimizer.step(parameters, [np.ones(2)])
    child = os.fork()
    if child == 0:
        status = 1
        try:
            try:
                optimizer.step(parameters, [np.ones(2)])
            except gradstep.InvalidState:
                gradstep.SGD(parameters, learning_rate=1.0).step(parameters, [np.ones(2)])
                status = 0 if parameters[0][0] == -2 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    optimizer.step(parameters, [np.ones(2)])


def test_threads_step_their_own_optimizers_at_once():
    def train(result):
        parameters = [np.zeros(5000)]
        optimizer = gradstep.Adam(parameters, learning_rate=0.01)
        for _ in range(50):
            optimizer.step(parameters, [np.ones(5000)])
        result.append(parameters[0].tobytes())

    results = []
    threads = [threading.Thread(target=train, args=(results,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and len(set(results)) == 1


def test_objects_left_at_exit_do_no_harm():
    program = (
        "import gradstep, numpy as np\n"
        "p = [np.zeros(2)]\n"
        "context = gradstep.Context(log=lambda level, text: None, interrupt=lambda: False)\n"
        "o = gradstep.SGD(p, learning_rate=lambda t: 0.1, context=context)\n"
        "o.step(p, p2 := [np.ones(2)])\n"
        "ends = gradstep.Communicator.local(2)\n"
        "view = gradstep.Adam(p, learning_rate=0.1).state(0, 'exp_avg')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""


def test_objects_that_outlive_the_package_are_destroyed_quietly():
    """Modules that are held to the end are emptied from the last import to the first: the package before its user."""
    program = (
        "import codecs, sys, numpy as np, gradstep, __main__\n"
        "p = [np.zeros(2)]\n"
        "context = gradstep.Context(log=lambda level, text: None)\n"
        "optimizer = gradstep.SGD(p, learning_rate=lambda t: 0.1, context=context)\n"
        "accumulator = gradstep.Accumulator(p, steps=gradstep.schedule.callback(lambda t: 2.0))\n"
        "comm = gradstep.Communicator.self()\n"
        "ends = gradstep.Communicator.local(2)\n"
        "reducer = gradstep.Reducer(comm, p)\n"
        "updater = gradstep.Updater(optimizer, accumulator, reducer)\n"
        "view = gradstep.Adam(p, learning_rate=0.1).state(0, 'exp_avg')\n"
        "kept = [__main__, *(module for name, module in sys.modules.items() if name.startswith('gradstep'))]\n"
        "codecs.register(lambda name, kept=kept: None)\n"  # until the interpreter itself ends
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""


DAEMONS = {
    "call": "optimizer = gradstep.Adam(p, learning_rate=0.1)\ncall = lambda: optimizer.step(p, g)\n",
    "schedule": "optimizer = gradstep.Adam(p, learning_rate=lambda t: time.sleep(0.001) or 0.1)\n"
    "call = lambda: optimizer.step(p, g)\n",
    "file": "class File:\n"
    "    def write(self, data): time.sleep(0.001)\n"
    "optimizer = gradstep.Adam(p, learning_rate=0.1)\ncall = lambda: optimizer.save(File())\n",
    "wait": "ends = gradstep.Communicator.local(2)\ncall = lambda: ends[0].all_reduce(p[0])\n",
    "array": "class Array:\n"
    "    def __dlpack__(self, **keywords):\n"
    "        time.sleep(0.001)\n"
    "        return g[0].__dlpack__(**keywords)\n"
    "optimizer = gradstep.Adam(p, learning_rate=0.1)\ncall = lambda: optimizer.step(p, [Array()])\n",
}


@pytest.mark.parametrize("inside", DAEMONS)
def test_the_interpreter_ends_while_a_daemon_thread_is_inside_a_call(inside):
    program = (
        "import threading, time, numpy as np, gradstep\n"
        "p, g = [np.zeros(200000, np.float32)], [np.ones(200000, np.float32)]\n"
        f"{DAEMONS[inside]}"
        "started = threading.Event()\n"
        "def loop():\n"
        "    while True:\n"
        "        started.set()\n"
        "        call()\n"
        "threading.Thread(target=loop, daemon=True).start()\n"
        "started.wait()\n"
        "time.sleep(0.05)\n"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")


def test_calls_reach_the_extension_without_a_python_function_between():
    assert isinstance(gradstep._native.optimizer_step, types.BuiltinFunctionType)
    assert isinstance(gradstep._native.optimizer_destroy, types.BuiltinFunctionType)


def test_the_package_describes_its_build():
    info = gradstep.build_info()
    assert info["version"] == gradstep.__version__ == gradstep.version()
    assert "cpu" in info["backends"] and {"self", "local", "host"} <= set(info["engines"])
    assert gradstep.backend_available("cpu") and gradstep.backend_status("cpu") == "ok"
    assert not gradstep.backend_available("abacus")
    with pytest.raises(gradstep.BackendUnavailable):
        gradstep.load_backend("/no/such/plugin.so")
    with pytest.raises(gradstep.InvalidArgument):
        gradstep.backend_status("abacus")
    package = os.path.dirname(gradstep.__file__)
    assert os.path.exists(os.path.join(package, "py.typed"))


@pytest.mark.parametrize("change", ["load", "copy_state", "add_parameters", "shard_none", "recover"])
def test_views_of_state_stay_valid_through_everything_but_sharding(change):
    parameters = [np.zeros(300, np.float32)]
    optimizer = gradstep.Adam(parameters, learning_rate=0.1)
    optimizer.step(parameters, [np.ones(300, np.float32)])
    view = optimizer.state(0, "exp_avg")
    if change == "load":
        file = io.BytesIO()
        optimizer.save(file)
        file.seek(0)
        optimizer.load(file)
    elif change == "copy_state":
        optimizer.copy_state(gradstep.Adam(parameters, learning_rate=0.1))
    elif change == "add_parameters":
        optimizer.add_parameters([np.zeros(300, np.float32)] * 50, names=[f"more.{i}" for i in range(50)])
    elif change == "shard_none":
        optimizer.unshard()
    else:
        updater = gradstep.Updater(optimizer, reducer=gradstep.Reducer(gradstep.Communicator.self(), parameters))
        updater.recover(gradstep.Communicator.self(), parameters)
    assert np.shares_memory(view, optimizer.state(0, "exp_avg"))


def handles():
    """One of each kind, with a call that needs what close() has let go of."""
    weights, grads = [np.zeros(3, np.float32)], [np.ones(3, np.float32)]
    context = gradstep.Context(num_threads=1)
    adam = gradstep.Adam(weights, learning_rate=0.1)
    return {
        "context": (context, lambda: gradstep.Adam(weights, learning_rate=0.1, context=context)),
        "optimizer": (adam, lambda: adam.step(weights, grads)),
        "accumulator": (accumulator := gradstep.Accumulator(weights, steps=2), lambda: accumulator.add(grads)),
        "reducer": (
            reducer := gradstep.Reducer(gradstep.Communicator.self(), weights),
            lambda: reducer.reduce(grads),
        ),
        "updater": (
            updater := gradstep.Updater(gradstep.SGD(weights, learning_rate=0.1)),
            lambda: updater.push(weights, grads),
        ),
    }


@pytest.mark.parametrize("kind", ["context", "optimizer", "accumulator", "reducer", "updater"])
def test_a_handle_is_closed_at_the_end_of_a_with_block(kind):
    handle, use = handles()[kind]
    with handle as same:
        assert same is handle
        use()
    with pytest.raises(gradstep.InvalidArgument, match=f"^{kind}: is NULL"):
        use()
    handle.close()
    assert repr(handle)


def test_what_is_closed_ends_with_its_last_view():
    weights = [np.zeros(3, np.float32)]
    accumulator = gradstep.Accumulator(weights, steps=1)
    accumulator.add([np.full(3, 2, np.float32)])
    handle = weakref.ref(accumulator._handle)
    (mean,) = accumulator.gradients()
    accumulator.close()
    assert handle() is not None and (mean == 2).all()
    del mean
    gc.collect()
    assert handle() is None


def test_an_updater_goes_on_with_an_optimizer_that_is_closed():
    weights = [np.zeros(3, np.float32)]
    with gradstep.SGD(weights, learning_rate=1.0) as sgd:
        updater = gradstep.Updater(sgd)
    updater.push(weights, [np.ones(3, np.float32)])
    assert (weights[0] == -1).all()
