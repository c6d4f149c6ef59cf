# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""An external LAPACK, here the one that NumPy brings with it, for Shampoo's large statistics."""

import ctypes
import pathlib

import numpy as np
import pytest
from conftest import relative

import gradstep


def numpy_lapack():
    folder = pathlib.Path(np.__file__).parent.parent / "numpy.libs"
    found = sorted(folder.glob("libscipy_openblas*.so"))
    if not found:
        pytest.skip("NumPy was not installed with a BLAS of its own")
    return found[0]


def root_of(n, lapack_library, random, **options):
    """The preconditioner of one step, and the statistic that it is of."""
    context = gradstep.Context(num_threads=2, lapack_library=lapack_library)
    parameters = [np.zeros((n, n + 7), np.float32)]
    optimizer = gradstep.Shampoo(
        parameters, learning_rate=0.1, block_size=1024, matrix_epsilon=1e-4, beta2=1.0, context=context, **options
    )
    optimizer.step(parameters, [random.standard_normal(parameters[0].shape).astype(np.float32)])
    failures = [metric.value for metric in optimizer.metrics() if metric.name == "root_failures"]
    assert sum(failures) == 0
    return optimizer.get_state(0, "preconditioners.0.0"), optimizer.get_state(0, "statistics.0.0")


def openblas(library, name):
    """OpenBLAS's function of that name, whatever its build has put before and behind it."""
    loaded = ctypes.CDLL(str(library))
    for symbol in (f"scipy_{name}64_", f"scipy_{name}", name):
        if hasattr(loaded, symbol):
            return getattr(loaded, symbol)
    pytest.skip(f"the library has no {name}")


def test_the_librarys_own_threads_are_its_hosts_business_again():
    library = numpy_lapack()
    threads, set_threads = openblas(library, "openblas_get_num_threads"), openblas(library, "openblas_set_num_threads")
    before = threads()
    set_threads(2)
    try:
        assert threads() == 2
        # Roots of two axes at once, on two threads.
        root_of(320, library, np.random.default_rng(1))
        assert threads() == 2
    finally:
        set_threads(before)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_roots_are_those_of_the_built_in_solver(precision):
    tolerance = {"f64": 1e-6, "f32": 1e-2}[precision]
    roots = []
    for library in (None, numpy_lapack()):
        root, statistic = root_of(300, library, np.random.default_rng(1), root_precision=precision)
        values, vectors = np.linalg.eigh(statistic.astype(np.float64))
        expected = (vectors * (values + 1e-4 * values[-1]) ** -0.25) @ vectors.T
        assert relative(root, expected) <= tolerance
        roots.append(root)
    if precision == "f32":  # whose rounding shows that the library was used; that of f64 is gone in an f32 root
        assert np.any(roots[0] != roots[1])


def test_small_statistics_stay_with_the_built_in_solver():
    roots = [root_of(64, library, np.random.default_rng(1))[0] for library in (None, numpy_lapack())]
    assert roots[0].tobytes() == roots[1].tobytes()


def test_a_library_that_is_none_is_refused():
    with pytest.raises(gradstep.BackendUnavailable, match=r"options.lapack_library: '/nowhere'"):
        gradstep.Context(lapack_library="/nowhere")
