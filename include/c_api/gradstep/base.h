/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h: status codes, versions, and the rules that every other header relies on.
 *
 * Errors. Every function that can fail returns a gradstep_status: GRADSTEP_OK (0) or a negative code. The text of the
 * last failing call of the calling thread is gradstep_last_error(); read it before the thread's next gradstep call, on
 * the same thread of the operating system (pin what moves between them, as goroutines do). Unless a comment says
 * otherwise a failing call has changed nothing. The library never prints, exits, aborts or throws.
 *
 * Statuses. After `Returns:` a comment lists what its function returns beside OK, with causes. Any function may return
 * these without a mention of the cause:
 *
 *   INVALID_ARGUMENT   a pointer that is needed is NULL; a handle is a destroyed one or one of another kind; a
 *                      struct_size that no version has; a stream on the CPU, or on CUDA cudaStreamPerThread; n
 *                      differs from the number of parameters
 *   INVALID_STATE      the handle is in use by another call, or was made before a fork; its stream is being captured,
 *                      and the call cannot be (docs/cuda.md)
 *   UNSUPPORTED        a growing struct has something set that this library does not know
 *   OUT_OF_MEMORY      the allocator, or the C++ runtime, has none left
 *   CALLBACK           a callback of the context or of the call failed, threw or did not do its work
 *   INTERNAL           a defect of gradstep
 *
 * Growing structs. Option, result and record structs start with `uint32_t struct_size`. Fill options with their
 * `*_options_init(&options, sizeof options)` before setting fields; zero other structs and set struct_size = sizeof(x),
 * also in those that the library writes. A struct of an older, smaller header is completed with zeros; a larger one is
 * accepted while the fields unknown to this library are zero (else UNSUPPORTED), and such fields of a struct that the
 * library writes become zero. A struct_size below that of version 1, above 4096 or no multiple of 8 is
 * INVALID_ARGUMENT. In arrays of such structs, element 0's struct_size is the stride and all elements agree.
 * docs/abi.md says what a release may change.
 *
 * Enums are int32 in structs and arguments. -1 is never valid, and 0 is the default unless a field's comment says
 * otherwise. Fields marked `bool` are 0 or 1, fields marked `flags` are bit sets; all other integers are numbers.
 *
 * Text. (char* buf, size_t cap, size_t* len) takes NUL-terminated UTF-8: *len (len may be NULL) becomes the bytes
 * needed with the NUL; buf NULL with cap 0 only asks for that. If cap is too small the call is INVALID_ARGUMENT and
 * nothing is written.
 *
 * Threads. No handle is bound to a thread. Different handles may be used at the same time; one handle by one thread at
 * a time: a second thread gets INVALID_STATE. Any number of threads may create handles on one context at once.
 * gradstep_comm_abort, gradstep_comm_status and the functions of this header may be called from any thread at any time.
 * After fork() the parent's handles answer INVALID_STATE in the child; their destroy functions release memory there
 * without joining threads. A thread that calls gradstep has at least 256 KiB of stack.
 *
 * Waiting. Only collective calls wait for other ranks (comm.h lists them), and gradstep_comm_send and _recv for theirs;
 * saves and loads wait for the disk or the host's stream. All else computes and returns. A runtime that has to stop its
 * threads (a garbage collector) enters such calls as it enters any function that may block for long.
 *
 * Destroying. Any thread may destroy any handle at any time, also a callback the one whose call it serves; NULL is
 * nothing to destroy. The handle is gone at once: further calls are INVALID_ARGUMENT while its memory is readable.
 * Calls that are inside finish as if nothing had happened, and the last of them frees what they use. A call that begins
 * later is the host's error. The library itself stays: dlclose gives up the host's use of it and unloads nothing, for
 * its threads run in it.
 *
 * Callbacks return. A C++ exception that leaves one is CALLBACK with the exception's words (OUT_OF_MEMORY for
 * std::bad_alloc of an allocator); one out of a release, deallocate or abort is dropped. Nothing else may leave one:
 * no longjmp, no panic or exception of another language. They may call gradstep: on handles that a call is using they
 * get INVALID_STATE. A `release` is called exactly once, also when the call that was given it fails, on the thread that
 * drops the last use: the one that destroys a handle, or whose call ends last. Only a struct whose struct_size is below
 * version 1 or above 4096 is not looked into, and its release not called: nothing in it can be trusted.
 *
 * Streams. The last `void* stream` of a call is the device stream its work is queued on. On CPU it must be NULL, and
 * the work is done when the call returns. The calls on a handle take effect in the order in which they were made, on
 * whichever streams; what a call shows by views is ready in the order of its stream. A call without a stream that
 * reads or replaces what the handle holds (its state, metrics, counts and statistics; save, load, copy_state,
 * attach_comm) waits until all that earlier calls on the handle have queued is done.
 *
 * Polling. gradstep_*_poll(handle, &done) returns at once: done (a bool) is 1 when nothing of the handle's is under
 * way, on a device or with the other ranks. It tells that work has ended, not how: what has failed is over too, and its
 * error comes from the call that waits for it (gradstep_reducer_wait), or else from the next one that needs it. Polls
 * return DEVICE as well for a device that answers with an error, as CUDA does for good once a kernel has failed.
 *
 * ABI version 0: names and layouts may still change until 1.0. A program that loads the library at run time compares
 * gradstep_abi_version() with the GRADSTEP_ABI_VERSION that it was compiled with: until 1.0 they must be equal, from
 * then on the major numbers, and the library's minor must not be smaller.
 */
#ifndef GRADSTEP_BASE_H
#define GRADSTEP_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#if defined(GRADSTEP_BUILDING)
#define GRADSTEP_API __declspec(dllexport)
#else
#define GRADSTEP_API __declspec(dllimport)
#endif
#else
#define GRADSTEP_API __attribute__((visibility("default")))
#endif

#if defined(__cplusplus)
#define GRADSTEP_NOEXCEPT noexcept
extern "C" {
#else
#define GRADSTEP_NOEXCEPT
#endif

/* The ABI that this header describes: major << 16 | minor. */
#define GRADSTEP_ABI_VERSION 0x00000001

typedef int32_t gradstep_status;

enum gradstep_status_code {
  GRADSTEP_OK = 0,
  GRADSTEP_ERR_INVALID_ARGUMENT = -1,    /* an argument breaks a stated rule; the text names it */
  GRADSTEP_ERR_INVALID_STATE = -2,       /* the call is out of turn, on a handle in use, or in a forked child */
  GRADSTEP_ERR_UNSUPPORTED = -3,         /* a legal request that this build, engine or device cannot serve */
  GRADSTEP_ERR_OUT_OF_MEMORY = -4,       /* the context's allocator returned NULL */
  GRADSTEP_ERR_BACKEND_UNAVAILABLE = -5, /* a plugin is missing or does not fit; the text has the loader's own words */
  GRADSTEP_ERR_DEVICE = -6,              /* a device call failed */
  GRADSTEP_ERR_NUMERIC = -7,             /* a number is outside what the algorithm can use */
  GRADSTEP_ERR_TIMEOUT = -8,             /* a deadline passed while waiting for peers */
  GRADSTEP_ERR_PEER_LOST = -9,           /* a peer closed its connection or died */
  GRADSTEP_ERR_ABORTED = -10,            /* gradstep_comm_abort or the context's interrupt ended the call */
  GRADSTEP_ERR_MISMATCH = -11,           /* ranks, or a file and a handle, disagree */
  GRADSTEP_ERR_IO = -12,                 /* reading or writing outside memory failed */
  GRADSTEP_ERR_CORRUPT = -13,            /* stored bytes are not what was written */
  GRADSTEP_ERR_CALLBACK = -14,           /* a host callback failed, threw, or did not do its work */
  GRADSTEP_ERR_INTERNAL = -99            /* a defect of gradstep: please report it */
};

/* The ABI of the loaded library, in the form of GRADSTEP_ABI_VERSION. Any thread. */
GRADSTEP_API uint32_t gradstep_abi_version(void) GRADSTEP_NOEXCEPT;

/* "major.minor.patch" of the loaded library. Static storage. Any thread. */
GRADSTEP_API const char* gradstep_version_string(void) GRADSTEP_NOEXCEPT;

/*
 * Writes a JSON object about this build (text, see above): "version", "abi_version" (a number), "build_id" (what
 * plugins must have been built with), "compiler", "instruction_sets" (compiled in), "instruction_set" (the one in use),
 * "backends" and "engines". Engines are those that this version knows on this system; whether the plugins among them,
 * gloo and mpi, are there is for gradstep_backend_available to tell.
 * Returns: INVALID_ARGUMENT (cap is too small, or buf NULL with another cap than 0). Any thread.
 */
GRADSTEP_API gradstep_status gradstep_build_info(char* buf, size_t cap, size_t* len) GRADSTEP_NOEXCEPT;

/* "GRADSTEP_ERR_TIMEOUT" for -8, and so on; "GRADSTEP_ERR_UNKNOWN" for other numbers. Static storage. Any thread. */
GRADSTEP_API const char* gradstep_status_name(gradstep_status status) GRADSTEP_NOEXCEPT;

/* The text of this thread's last failing call, "" before the first. Never NULL; valid until its next failing call or
 * gradstep_set_last_error. */
GRADSTEP_API const char* gradstep_last_error(void) GRADSTEP_NOEXCEPT;

/* Sets this thread's text, which is copied: for host callbacks, just before they return a failure. NULL clears it. */
GRADSTEP_API void gradstep_set_last_error(const char* text) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_BASE_H */
