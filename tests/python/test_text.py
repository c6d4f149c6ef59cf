# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Text is passed on whole or refused: C's ends at a NUL, and would be another name or another file."""

import os

import numpy as np
import pytest

import gradstep

PARAMETERS = [np.zeros(2), np.zeros(3)]
PATHS_ARE_UTF8 = os.name == "nt"
# Names of files, which Python encodes without an error: the library refuses them.
PATHS = ["file", "store", "library", *(["plugin"] if PATHS_ARE_UTF8 else [])]


def adam(**options):
    return gradstep.Adam(PARAMETERS, learning_rate=0.1, **options)


TEXTS = {
    "names": lambda text: adam(names=["first", text]),
    "names of an accumulator": lambda text: gradstep.Accumulator(PARAMETERS, steps=1, names=["first", text]),
    "names of a reducer": lambda text: gradstep.Reducer(
        gradstep.Communicator.self(), PARAMETERS, names=["first", text]
    ),
    "names added": lambda text: adam().add_parameters([np.zeros(1)], names=[text]),
    "a state": lambda text: adam().state(0, text),
    "a state to copy": lambda text: adam().get_state(0, text),
    "a state to set": lambda text: adam().set_state(0, text, np.zeros(2)),
    "a hyper-parameter": lambda text: adam().set_value(text, 0.1),
    "a scheduled hyper-parameter": lambda text: adam().set_value(text, gradstep.schedule.constant(0.1)),
    "a hyper-parameter to read": lambda text: adam().get_value(text),
    "a backend": gradstep.backend_available,
    "a backend's status": gradstep.backend_status,
    "a plugin": gradstep.load_backend,
    "an engine": gradstep.unique_id,
    "an interface": lambda text: gradstep.unique_id("shm", text),
    "an interface to connect by": lambda text: gradstep.Communicator.gloo(0, 1, "/tmp", network_interface=text),
    "a store": lambda text: gradstep.Communicator.shm(0, 1, text),
    "a library": lambda text: gradstep.Context(lapack_library=text),
    "a file to save": lambda text: adam().save(text),
    "a file to load": lambda text: adam().load(text),
}
# What text begins with that would be taken without its end.
LEGAL = {
    "a state": "exp_avg",
    "a state to copy": "exp_avg",
    "a state to set": "exp_avg",
    "a hyper-parameter": "beta1",
    "a scheduled hyper-parameter": "beta1",
    "a hyper-parameter to read": "beta1",
    "a backend": "cpu",
    "a backend's status": "cpu",
    "an engine": "shm",
    "an interface": "lo",
    "an interface to connect by": "lo",
}


@pytest.mark.parametrize("use", TEXTS)
def test_text_with_a_nul_is_refused(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = LEGAL.get(use, "a") + "\0b"
    with pytest.raises(
        ValueError, match=rf"has a NUL character at byte {len(text) - 2}, expected text without one"
    ) as caught:
        TEXTS[use](text)
    assert isinstance(caught.value, gradstep.InvalidArgument)
    assert os.listdir(tmp_path) == [], "nothing was written under a shorter name"


@pytest.mark.parametrize("use", [use for use in TEXTS if not any(path in use for path in PATHS)])
def test_text_that_utf_8_cannot_hold_is_refused(use):
    with pytest.raises(ValueError, match="surrogates not allowed"):
        TEXTS[use]("\ud800")


@pytest.mark.parametrize("use", ["a state", "a hyper-parameter", "a backend", "a plugin", "an engine"])
def test_what_is_no_text_is_refused(use):
    with pytest.raises(TypeError, match="expected a str, found bytes"):
        TEXTS[use](b"cpu")


def test_the_argument_is_named():
    for use, name in {
        "names": r"names\[1\]",
        "a state": "name",
        "a file to save": "path",
        "an engine": "engine",
    }.items():
        with pytest.raises(ValueError, match=f"^{name}: has a NUL"):
            TEXTS[use]("a\0b")


def test_all_other_text_arrives(tmp_path):
    names = ["ordinary", "Gewicht ü, 重み, 🜁, with spaces\nand lines"]
    optimizer = adam(names=names)
    path = tmp_path / "Zustand ü 🜁.safetensors"
    optimizer.save(path)
    assert os.listdir(tmp_path) == [path.name]
    adam(names=names).load(path)
    with pytest.raises(gradstep.Mismatch):
        adam(names=["ordinary", "another"]).load(path)


@pytest.mark.skipif(PATHS_ARE_UTF8, reason="there are no others on Windows")
def test_paths_need_not_be_text(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"not utf-8 \xff")
    optimizer = adam()
    optimizer.save(path)
    assert os.listdir(os.fsencode(tmp_path)) == [b"not utf-8 \xff"]
    optimizer.load(path)


def test_an_exception_whose_text_has_a_nul_comes_out_as_it_was():
    error = LookupError("a\0b")

    def rate(step):
        raise error

    with pytest.raises(LookupError) as caught:
        gradstep.SGD(PARAMETERS, learning_rate=rate)
    assert caught.value is error
