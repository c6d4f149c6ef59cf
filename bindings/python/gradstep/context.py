# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Contexts: the threads, the log and the interrupt that objects share."""

import logging
import os
from collections.abc import Callable

from gradstep import _native
from gradstep._handle import Closable, Handle
from gradstep._numbers import set_number
from gradstep._options import enum_value
from gradstep._repr import describe

_LOG_LEVELS = ("off", "error", "warning", "info", "debug")


def _log_sink(log: Callable[[str, str], object] | logging.Logger | None) -> Callable[[int, str], object] | None:
    if log is None:
        return None
    if isinstance(log, logging.Logger):
        numbers = logging.NOTSET, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG
        return lambda level, text: log.log(numbers[level], "%s", text)
    return lambda level, text: log(_LOG_LEVELS[level], text)


class Context(Closable):
    """A thread pool and a log sink. Objects made on a context keep what they need of it.

    num_threads: >= 0; 0 = min(8, cores), 1 = the caller alone. Results do not depend on it.
    background_threads: >= 0, threads of the low-priority lane, started at first use.
    log: a logging.Logger, or called with (level, text); what it raises is reported, not raised. docs/failure.md lists
        the records.
    log_level: "off", "error", "warning", "info" or "debug"; by default "warning" for a callable, and "debug" for a
        Logger, which has a level of its own.
    lapack_library: path of a shared library with LAPACK's dsyevd and ssyevd, which Shampoo then uses for statistics of
        256 and more. It must be safe to call from several threads at once.
    interrupt: called while a call waits for peers; true ends the call with Aborted. Ctrl-C ends a wait in any case.
    """

    def __init__(
        self,
        num_threads: int = 0,
        *,
        background_threads: int = 1,
        log: Callable[[str, str], object] | logging.Logger | None = None,
        log_level: str | None = None,
        interrupt: Callable[[], bool] | None = None,
        lapack_library: str | os.PathLike[str] | None = None,
    ) -> None:
        lapack_path = None if lapack_library is None else os.fspath(lapack_library)
        options = _native.ContextArguments(_log_sink(log), interrupt, lapack_path)
        set_number(options, "num_threads", num_threads, "num_threads")
        set_number(options, "background_threads", background_threads, "background_threads")
        level = log_level
        if level is None:
            level = "off" if log is None else "debug" if isinstance(log, logging.Logger) else "warning"
        options.log_level = enum_value("LOG_", level, "log_level")
        self._handle = Handle(_native.context_create(options), _native.context_destroy)
        self._pointer = self._handle.pointer
        self._given = {
            "num_threads": num_threads,
            "background_threads": background_threads,
            "log": log,
            "log_level": level,
            "interrupt": interrupt,
            "lapack_library": lapack_path,
        }

    def __repr__(self) -> str:
        given = getattr(self, "_given", {})
        return describe(self, (), {name: value for name, value in given.items() if value is not None})


_default: Context | None = None


def default_context() -> Context:
    """The context of objects that were given none. Made at first use; a forked child makes its own."""
    global _default
    if _default is None:
        _default = Context()
    return _default


def context_pointer(context: Context | None) -> object:
    return (context if context is not None else default_context())._pointer


def _forget_default() -> None:
    global _default
    _default = None


if hasattr(os, "register_at_fork"):  # Windows has no fork()
    os.register_at_fork(after_in_child=_forget_default)
