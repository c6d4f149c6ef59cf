/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.h: communicators, i.e. connections to the other ranks of a job.
 *
 *   engine   ranks are                     made by
 *   self     this caller alone             gradstep_comm_create
 *   local    threads of this process       gradstep_comm_create_local
 *   shm      processes of one machine      gradstep_comm_create, over shared memory
 *   host     whatever the host connects    gradstep_comm_create_host (a table of callbacks)
 *   gloo     processes, over TCP           gradstep_comm_create (plugin libgradstep_gloo.so)
 *   auto     processes, by shm if all of them run on one machine, else by gloo
 *   mpi      processes of an MPI job       gradstep_comm_create or gradstep_comm_wrap_mpi (plugin libgradstep_mpi.so)
 *   nccl     as with auto, or those of a   gradstep_comm_create or gradstep_comm_attach_nccl: NCCL carries memory of
 *            communicator that is there    CUDA devices (plugin libgradstep_cuda.so), that communicator the host's
 *
 * Collective means: every rank of the communicator makes the call, in the same order, with the same arguments where the
 * comment says so. Collective calls are
 *
 *   gradstep_comm_       create (shm, gloo, auto, mpi, nccl), wrap_mpi, attach_nccl, create_host, split, dup,
 *                        all_reduce, all_gather, all_gather_v, reduce_scatter, broadcast, barrier, vote
 *   gradstep_reducer_    create, reduce, wait; push where exchanges cannot overlap, see reducer.h
 *   gradstep_updater_    push and flush in the call that ends a window; recover; save and load over several ranks
 *   gradstep_optimizer_  attach_comm, attach_reducer, attach_shards; while state is sharded step, step_ex, update,
 *                        get_state, set_state, average, copy_state, save, load; after attach_shards step, step_ex,
 *                        update, save, and of what has an owner get_state, average and copy_state
 *
 * The statuses of a collective call, beside those of base.h: TIMEOUT (a peer did not come until the deadline),
 * PEER_LOST (one closed its connection, died or left), ABORTED (gradstep_comm_abort or the context's interrupt),
 * MISMATCH (ranks make different calls, or the same with another operation, dtype, root or count: over local, shm and
 * gloo on all ranks that wait, and the text names both calls; over mpi another length alone), IO (the system refused a
 * socket or shared memory) and CALLBACK (a host's communicator). They break the communicator. A call of no elements is
 * a call: it waits for the others.
 *
 * Deadlines. Each call fixes one deadline at entry, options.timeout_ms later, and returns by then plus 1 s at the
 * latest with TIMEOUT. Where a call of another handle computes or writes between exchanges (the roots and blocks of a
 * sharded Shampoo, an updater's local step, collective saves and loads), each exchange has one of its own. Failure: the
 * first error breaks a communicator for good; later calls return it at once, and destroying it waits for nothing but a
 * host's callback that is running. Sums: with GRADSTEP_REDUCTION_RANK every element of a sum is ((x0 + x1) + x2) + ...
 * in the order of ranks, so that results do not depend on the engine; all ranks always end with the same bits.
 */
#ifndef GRADSTEP_COMM_H
#define GRADSTEP_COMM_H

#include "gradstep/context.h"
#include "gradstep/tensor.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gradstep_comm gradstep_comm;

enum gradstep_reduce_op {
  GRADSTEP_REDUCE_INVALID = -1,
  GRADSTEP_REDUCE_SUM = 0,
  GRADSTEP_REDUCE_MAX = 1,
  GRADSTEP_REDUCE_MIN = 2
};

enum gradstep_reduction_order {
  GRADSTEP_REDUCTION_INVALID = -1,
  GRADSTEP_REDUCTION_RANK = 0,   /* equal bits on every engine */
  GRADSTEP_REDUCTION_ENGINE = 1, /* the engine's own; ranks agree with each other, nothing more. Gloo sums large f32,
                                    f64 and integer arrays by a ring, others as RANK */
  /* ((host 0) + (host 1) + ...), each host's sum in the order of its ranks: bytes cross the network once for each host.
   * Every engine gives equal bits, as long as the ranks on each host stay. Engines of device memory: UNSUPPORTED. */
  GRADSTEP_REDUCTION_HOSTS = 2
};

/* How gradients of P ranks become one. With g_r and w_r the gradient and weight of rank r: */
enum gradstep_average {
  GRADSTEP_AVERAGE_INVALID = -1,
  GRADSTEP_AVERAGE_UNSET = 0,   /* what a reducer's mode says: SUM for Adasum, else MEAN */
  GRADSTEP_AVERAGE_SUM = 1,     /* sum g_r */
  GRADSTEP_AVERAGE_MEAN = 2,    /* sum g_r / P */
  GRADSTEP_AVERAGE_WEIGHTED = 3 /* sum w_r g_r / sum w_r; zero where all weights are zero */
};

/*
 * A key-value store for rendezvous: the host's own. `set` copies the len bytes at data under the NUL-terminated key.
 * `get` waits up to timeout_ms for the key (else TIMEOUT); *len is the capacity of `data` on entry and the value's
 * length on return (INVALID_ARGUMENT if it does not fit). A second `set` of a key replaces the value; that happens only
 * where an earlier job has used the same generation. Both are needed, and called during comm_create, on its thread;
 * `release` (may be NULL) once, before it returns.
 */
typedef struct gradstep_store {
  uint32_t struct_size;
  uint32_t reserved;
  void* user;
  gradstep_status (*set)(void* user, const char* key, const void* data, size_t len);
  gradstep_status (*get)(void* user, const char* key, void* data, size_t* len, int64_t timeout_ms);
  void (*release)(void* user);
} gradstep_store;

typedef struct gradstep_comm_options {
  uint32_t struct_size;
  int32_t rank;            /* 0 to world_size - 1, default 0; -1 = it and world_size are the launcher's, see create */
  int32_t world_size;      /* >= 1, default 1 */
  int32_t reduction_order; /* enum gradstep_reduction_order, default RANK */
  const char* engine;      /* "self", "shm", "gloo", "auto", "mpi", "nccl" */
  int64_t timeout_ms;      /* of every call; > 0, default 30000 */

  /* Rendezvous of shm, gloo, auto and nccl, one of: the bytes of gradstep_comm_unique_id, made by one rank and carried
   * to all; a store of the host; the path of a directory that all ranks share (made if it is not there; what others
   * have put in a key's place there, a link or a FIFO, is IO at once, and is never written through). With rank -1 none
   * is needed. */
  const void* id;
  size_t id_len; /* bytes at id */
  const gradstep_store* store;
  const char* store_path;

  /* Its name or address, for gloo; NULL = that of the host's name. Where that is loopback, it is the address from which
   * the store is reached, or that of the route to other machines where the store does not say one; loopback only where
   * the store is at one, too, or the machine has no other. */
  const char* network_interface;
  int64_t generation; /* a new number for each communicator made through the same store */
  int32_t device;     /* of nccl: the number of this rank's CUDA device */
  int32_t reserved;
} gradstep_comm_options;

/*
 * A host's collectives. Required: rank, world_size, all_gather. Every other function may be NULL and is then built from
 * the given ones. A call returns when the buffers are done, keeps timeout_ms, and returns a status (PEER_LOST, TIMEOUT,
 * ... or CALLBACK; see gradstep_set_last_error); a C++ exception that leaves it counts as CALLBACK. `any_thread` = 1
 * allows calls from gradstep's own threads, which makes them interruptible and lets gradstep_comm_abort reach `abort`;
 * with dup and abort a reducer then exchanges buckets while the host computes (reducer.h). One call runs at a time per
 * `user`; only abort may come during another.
 *
 * Buffers are host memory, and `stream` is NULL, unless device_types has the bit 1 << device_type. Device memory counts
 * as done when the call has queued its work on `stream`: it does not wait for that, and timeout_ms bounds the queueing
 * alone. `poll` reports what fails later.
 *
 * type_code and bits are those of a gradstep_dtype of one lane: f32, f64, int32 or int64.
 */
typedef struct gradstep_comm_vtable {
  uint32_t struct_size;
  int32_t rank;
  int32_t world_size;
  int32_t any_thread;    /* bool */
  uint32_t device_types; /* flags, 1 << enum gradstep_device_type; 0 = host memory only */
  int32_t rank_ordered;  /* bool: all_reduce and reduce_scatter sum in the order of ranks, for REDUCTION_RANK too */

  /* receive[r * bytes ..] = rank r's send[0 .. bytes); bytes is equal on all ranks. */
  gradstep_status (*all_gather)(void* user, const void* send, void* receive, int64_t bytes, void* stream,
                                int64_t timeout_ms);
  /* (optional) data = the reduction of `count` elements over ranks by `op` (enum gradstep_reduce_op), in place. */
  gradstep_status (*all_reduce)(void* user, void* data, int64_t count, int32_t type_code, int32_t bits, int32_t op,
                                void* stream, int64_t timeout_ms);
  /* (optional) send holds world_size blocks of `count`; receive = the reduction by `op` of block `rank`, and may be
   * that very block of `send`; it overlaps `send` nowhere else. */
  gradstep_status (*reduce_scatter)(void* user, const void* send, void* receive, int64_t count, int32_t type_code,
                                    int32_t bits, int32_t op, void* stream, int64_t timeout_ms);
  /* (optional) data of `root` on all ranks. */
  gradstep_status (*broadcast)(void* user, void* data, int64_t bytes, int32_t root, void* stream, int64_t timeout_ms);
  /* (optional, both or none) matched in order per pair of ranks; either may wait for the other side. */
  gradstep_status (*send)(void* user, const void* data, int64_t bytes, int32_t to, void* stream, int64_t timeout_ms);
  gradstep_status (*recv)(void* user, void* data, int64_t bytes, int32_t from, void* stream, int64_t timeout_ms);
  /* (optional) both at once, without waiting for each other. */
  gradstep_status (*send_recv)(void* user, const void* send, int64_t send_bytes, int32_t to, void* receive,
                               int64_t receive_bytes, int32_t from, void* stream, int64_t timeout_ms);
  /* (optional) returns when all ranks have entered. */
  gradstep_status (*barrier)(void* user, void* stream, int64_t timeout_ms);
  /* (optional) collective: a second, independent channel between the same ranks; fills *out (struct_size set by the
   * caller) and *out_user, which is released by out->release. Without it a dup shares the channel, and so does all that
   * is made of a split, with it or not: ranks make the calls on communicators that share one in the same order, and
   * what breaks or aborts one of them breaks all. */
  gradstep_status (*dup)(void* user, int64_t timeout_ms, struct gradstep_comm_vtable* out, void** out_user);
  /* (optional) makes calls in progress return, and tells the peers if it can. Called at most once, from any thread, on
   * gradstep_comm_abort and when a first error has broken the communicator; only with any_thread. */
  void (*abort)(void* user);
  /* (optional) called exactly once, when the last communicator on `user` is gone, or when creation fails. */
  void (*release)(void* user);
  /* (optional) collective: sends send[r] to, and receives receive[r] from, every other rank r, all at once. The arrays
   * have world_size entries; those of this rank are ignored, and what has 0 bytes is not sent. Saves the round trips of
   * doing the same by send_recv. */
  gradstep_status (*exchange)(void* user, const void* const* send, const int64_t* send_bytes, void* const* receive,
                              const int64_t* receive_bytes, void* stream, int64_t timeout_ms);
  /* (optional) OK, or why the channel is of no more use: what a call had queued has failed, or a peer is gone. Returns
   * at once. Called before every call that talks to other ranks, which an error then ends in its stead, and which
   * breaks the communicator. */
  gradstep_status (*poll)(void* user);
} gradstep_comm_vtable;

/* Completed calls since creation; a dup or split counts for itself, a vote counts as an all-gather. Bytes are what this
 * rank sent. */
typedef struct gradstep_comm_statistics {
  uint32_t struct_size;
  int32_t reserved;
  int64_t all_reduces;
  int64_t all_gathers;
  int64_t reduce_scatters;
  int64_t broadcasts;
  int64_t sends;
  int64_t receives;
  int64_t barriers;
  int64_t bytes_sent;
  int64_t nanoseconds; /* spent inside calls */
  int64_t exchanges;   /* for a reducer: each rank sent other bytes to every other one */
  int64_t rounds;      /* in each of which all ranks, or all of a host, sent to each other or met */
} gradstep_comm_statistics;

/* Writes the defaults into the struct_size bytes at o. Returns: INVALID_ARGUMENT (o NULL, a bad struct_size). */
GRADSTEP_API gradstep_status gradstep_comm_options_init(gradstep_comm_options* o, size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Connects (collective; all ranks pass the same engine, world_size, generation and reduction_order).
 *
 * options NULL = engine "auto" with rank -1: the ranks that a launcher has started. Rank and world size are then the
 * first pair that the environment has of
 *   RANK and WORLD_SIZE                             torchrun; a PyTorchJob of Kubernetes
 *   OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE   Open MPI
 *   PMI_RANK and PMI_SIZE                           MPICH, and whatever speaks PMI
 *   SLURM_PROCID and SLURM_STEP_NUM_TASKS           Slurm
 *   PET_NODE_RANK and PET_NNODES                    a TrainJob of Kubernetes, without torchrun
 *   JOB_COMPLETION_INDEX and WORLD_SIZE             a JobSet of Kubernetes
 * and they meet, unless the options have a rendezvous: in the folder GRADSTEP_STORE; where the launcher says that all
 * run on one machine, at a local socket that answers this user alone; else at rank 0, which listens at MASTER_ADDR
 * (Slurm: the step's first machine), port GRADSTEP_PORT, else MASTER_PORT + 1 (Slurm: 20000 + job id modulo 10000).
 * A process makes such calls one after the other, in the same order on all ranks; they need no generation. Any
 * process that reaches the port and knows the job's variables can join, as with torch.distributed's store. GRADSTEP_JOB
 * is a variable of the job, too: a text that strangers do not know, or that tells two jobs apart.
 *
 * shm takes at most 256 ranks, which must see each other's processes (one machine, one namespace of process numbers,
 * one user) through /proc; it uses at most 1 MiB of memory per rank, or 16 KiB per pair of ranks if that is more, and
 * none of /dev/shm. Where the system lets ranks read each other's memory (process_vm_readv), messages from 128 KiB on
 * are not copied there. auto takes shm where it can and gloo elsewhere, the same on all ranks; gradstep_comm_engine
 * tells which. gloo and auto take at most 4096 ranks.
 * *out is the caller's to destroy.
 * Returns: INVALID_ARGUMENT (rank outside the world, no or two rendezvous, unknown engine; rank -1: the text names the
 * variables that were looked for, what was found and what contradicts), BACKEND_UNAVAILABLE (no plugin), TIMEOUT (a
 * peer did not come), PEER_LOST (it died meanwhile), ABORTED (the context's interrupt), MISMATCH (ranks disagree on
 * engine, world_size or reduction_order), UNSUPPORTED (shm between machines; elsewhere than on Linux all but self),
 * CALLBACK (the host's store failed), OUT_OF_MEMORY, IO (the store; rank 0's port is taken; gloo: no file descriptor
 * left, of which it takes one for each peer).
 */
GRADSTEP_API gradstep_status gradstep_comm_create(gradstep_context* context, const gradstep_comm_options* options,
                                                  gradstep_comm** out) GRADSTEP_NOEXCEPT;

/*
 * gradstep_comm_create_local and gradstep_comm_create_local_ex: write world_size connected communicators into
 * out[0 .. world_size), the caller's to destroy: one for each thread that plays a rank. Not collective. Only
 * timeout_ms and reduction_order of options are read; NULL = defaults, as without them.
 * Returns: INVALID_ARGUMENT (world_size < 1 or > 1024; timeout_ms or reduction_order), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_comm_create_local(gradstep_context* context, int32_t world_size,
                                                        gradstep_comm** out) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_comm_create_local_ex(gradstep_context* context, int32_t world_size,
                                                           const gradstep_comm_options* options,
                                                           gradstep_comm** out) GRADSTEP_NOEXCEPT;

/*
 * gradstep_comm_create_host and gradstep_comm_create_host_ex: wrap a host's collectives. The vtable is copied.
 * `release` is called also when this fails, see base.h. Collective: the
 * host names of the ranks are gathered once. Only timeout_ms and reduction_order of options are read; NULL = defaults,
 * as without them. *out is the caller's to destroy. Returns: INVALID_ARGUMENT (no all_gather, send without recv, rank
 * outside the world, a rank_ordered other than 0 and 1; timeout_ms or reduction_order), UNSUPPORTED (a vtable or
 * options that ask for something newer than this library), MISMATCH (ranks disagree on world_size or reduction_order,
 * or all_gather mixes their data up), OUT_OF_MEMORY, CALLBACK (all_gather failed without a status of its own), and what
 * all_gather returns.
 */
GRADSTEP_API gradstep_status gradstep_comm_create_host(gradstep_context* context, const gradstep_comm_vtable* vtable,
                                                       void* user, gradstep_comm** out) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_comm_create_host_ex(gradstep_context* context, const gradstep_comm_vtable* vtable,
                                                          void* user, const gradstep_comm_options* options,
                                                          gradstep_comm** out) GRADSTEP_NOEXCEPT;

/*
 * gradstep_comm_wrap_mpi and gradstep_comm_wrap_mpi_ex: connect the ranks of an MPI communicator (collective among
 * them). Only timeout_ms and reduction_order of options are read; NULL = defaults, as without them. comm_address points
 * to an MPI_Comm of the MPI library that libgradstep_mpi.so was built with; it is duplicated, and stays the host's.
 * gradstep_comm_create with engine "mpi" does the same with MPI_COMM_WORLD; rank and world_size are MPI's there.
 *
 * MPI is started (with MPI_THREAD_MULTIPLE) only if the process has not done so, and then ends with the process; what
 * the host has started is the host's to end, after the last call on the communicator. MPI keeps the timeout alone of
 * the failure promise: the launcher ends a job whose rank died; peers of a rank that left or aborted wait for their
 * timeouts; and a call that was given up leaves its buffers to MPI for good. Where MPI is started here, the first
 * creation may outlast its timeout by what MPI_Init_thread takes, which no deadline reaches and which may wait for all
 * processes of the job. Only where MPI provides MPI_THREAD_MULTIPLE, for which a host that starts MPI itself has to
 * ask, can calls be interrupted and aborted. GRADSTEP_REDUCTION_ENGINE sums by MPI_Iallreduce, but in rank order on
 * what split makes. A message of another length than the receiver expects is MISMATCH there. Returns: INVALID_ARGUMENT
 * (comm_address NULL, or of MPI_COMM_NULL or an intercommunicator, a rendezvous in the options, timeout_ms or
 * reduction_order), UNSUPPORTED (not on Linux), BACKEND_UNAVAILABLE (no plugin), INVALID_STATE (MPI was finalized),
 * TIMEOUT (a peer did not come), MISMATCH (ranks disagree on reduction_order), PEER_LOST (MPI says so), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_comm_wrap_mpi(gradstep_context* context, const void* comm_address,
                                                    gradstep_comm** out) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_comm_wrap_mpi_ex(gradstep_context* context, const void* comm_address,
                                                       const gradstep_comm_options* options,
                                                       gradstep_comm** out) GRADSTEP_NOEXCEPT;

/*
 * *out = a communicator of the ranks of `comm`, the caller's to destroy, on which memory of CUDA device `device`, this
 * rank's own, travels by NCCL (2.14 or later) and never through the host; what is in the host's memory travels by a dup
 * of `comm`. Collective. Sums are in the order of ranks as on every engine; GRADSTEP_REDUCTION_ENGINE sums by
 * ncclAllReduce. A dup, a split and the channels of reducers and optimizers are new connections of NCCL's.
 *
 * nccl_comm: an ncclComm_t of the same ranks, in the same order, on that device, which carries what is called on *out
 * itself; NULL = *out makes one of its own. It stays the host's, outlives *out, and is in no other call during one of
 * *out. An error that breaks *out aborts it (ncclCommAbort): the host then neither uses nor destroys it.
 *
 * Calls return when what they received is there, and are INVALID_STATE in a capture. A deadline covers the work that
 * was in the stream before. A peer that is gone, and whatever NCCL reports by itself, aborts NCCL's work in the stream:
 * PEER_LOST (ncclRemoteError), IO (ncclSystemError) or DEVICE.
 * Returns: INVALID_ARGUMENT (out NULL; nccl_comm of other ranks or of another device), INVALID_STATE (in use),
 * BACKEND_UNAVAILABLE (no plugin libgradstep_cuda.so, no libnccl.so.2, no such device), OUT_OF_MEMORY, DEVICE, and the
 * statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_comm_attach_nccl(gradstep_comm* comm, int32_t device, void* nccl_comm,
                                                       gradstep_comm** out) GRADSTEP_NOEXCEPT;

/* Gives the handle up, whatever state the communicator is in; reducers and optimizers keep channels of their own. The
 * call waits for nothing but a callback of a host's communicator that is running. NULL is nothing. */
GRADSTEP_API void gradstep_comm_destroy(gradstep_comm* comm) GRADSTEP_NOEXCEPT;

/*
 * gradstep_comm_unique_id and gradstep_comm_unique_id_ex: make a rendezvous id for `engine` ("shm", "gloo", "auto" or
 * "nccl"): this process then serves a small TCP key-value store until every rank has connected and left, or 10 minutes
 * have passed unused. The id holds address, port and a 128-bit token; carry its bytes to all ranks by any means.
 * The store serves on `network_interface`, a name or an address (NULL, as without it: see gradstep_comm_options), but
 * not on a link-local IPv6 address, whose scope is another one on each machine.
 * *len (may be NULL) = bytes needed; buf NULL with cap 0 only asks for that and starts nothing. A process
 * without the token can neither read nor write there. docs/failure.md says how much such a process can hold.
 * Returns: INVALID_ARGUMENT (unknown engine or interface, a link-local address, cap too small), UNSUPPORTED (elsewhere
 * than on Linux), IO (no socket), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_comm_unique_id(const char* engine, void* buf, size_t cap,
                                                     size_t* len) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_comm_unique_id_ex(const char* engine, const char* network_interface, void* buf,
                                                        size_t cap, size_t* len) GRADSTEP_NOEXCEPT;

/*
 * gradstep_comm_rank, gradstep_comm_world_size and gradstep_comm_local_rank: this rank, from 0; the number of ranks;
 * and the index of this rank among those with the same host name, in the order of ranks, as found at creation.
 * Returns: INVALID_ARGUMENT (the result is NULL), INVALID_STATE (in use).
 */
GRADSTEP_API gradstep_status gradstep_comm_rank(gradstep_comm* comm, int32_t* rank) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_comm_world_size(gradstep_comm* comm, int32_t* world_size) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_comm_local_rank(gradstep_comm* comm, int32_t* local_rank) GRADSTEP_NOEXCEPT;

/* The name of the engine that connects the ranks: "self", "local", "shm", "host", "gloo", "mpi" or "nccl" (text, see
 * base.h). Returns: INVALID_ARGUMENT (cap is too small), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_comm_engine(gradstep_comm* comm, char* buf, size_t cap,
                                                  size_t* len) GRADSTEP_NOEXCEPT;

/*
 * Collectives on tensors that are contiguous and whole bytes an element; else UNSUPPORTED. All tensors of a call are in
 * the host's memory, where `stream` is NULL, or on one CUDA device, on all ranks alike: then the call's work is in the
 * order of `stream`, and travels by NCCL, or a host's communicator that reaches the device, else through the host's
 * memory by any engine. A tensor's dtype and element count are equal on all ranks unless said otherwise. Nothing is
 * sent on INVALID_ARGUMENT; after any other failure but INVALID_STATE and UNSUPPORTED buffers hold garbage. A device
 * that is not there is BACKEND_UNAVAILABLE.
 */

/*
 * tensor = the reduction over ranks by `op` (enum gradstep_reduce_op), in place. f32, f64, f16, bf16, int32, int64; f16
 * and bf16 sum in f32 and round once. Integer sums wrap. Direct reduce-scatter and all-gather: 2 (P - 1) / P of the
 * bytes, as a ring.
 * Returns: INVALID_ARGUMENT (tensor, op), INVALID_STATE (in use), UNSUPPORTED (not contiguous), and the statuses of a
 * collective call.
 */
GRADSTEP_API gradstep_status gradstep_comm_all_reduce(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t op,
                                                      void* stream) GRADSTEP_NOEXCEPT;

/*
 * output = the inputs of all ranks, one after another: world_size times input's elements, any dtype, the same for both.
 * In place: input may be this rank's block of output, and overlaps it nowhere else.
 * Returns: INVALID_ARGUMENT (other dtypes or counts, overlap), INVALID_STATE (in use), UNSUPPORTED (not contiguous, or
 * of no whole bytes), and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_comm_all_gather(gradstep_comm* comm, const gradstep_tensor* input,
                                                      const gradstep_tensor* output, void* stream) GRADSTEP_NOEXCEPT;

/*
 * gradstep_comm_all_gather where rank r gives counts[r] elements; counts has world_size entries, each >= 0, and is
 * equal on all ranks; output has their sum.
 * Returns: INVALID_ARGUMENT (as all_gather; a count that is negative or not input's), INVALID_STATE (in use),
 * UNSUPPORTED (not contiguous, or of no whole bytes), and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_comm_all_gather_v(gradstep_comm* comm, const gradstep_tensor* input,
                                                        const gradstep_tensor* output, const int64_t* counts,
                                                        void* stream) GRADSTEP_NOEXCEPT;

/*
 * output (input's elements / world_size) = the reduction by `op` over ranks of this rank's block of input, and may be
 * that block. Dtypes and sums as all_reduce.
 * Returns: INVALID_ARGUMENT (other dtypes or counts, overlap, op), INVALID_STATE (in use), UNSUPPORTED (not
 * contiguous), and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_comm_reduce_scatter(gradstep_comm* comm, const gradstep_tensor* input,
                                                          const gradstep_tensor* output, int32_t op,
                                                          void* stream) GRADSTEP_NOEXCEPT;

/*
 * tensor = root's, any dtype.
 * Returns: INVALID_ARGUMENT (tensor, root outside the world), INVALID_STATE (in use), UNSUPPORTED (not contiguous, or
 * of no whole bytes), and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_comm_broadcast(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t root,
                                                     void* stream) GRADSTEP_NOEXCEPT;

/*
 * gradstep_comm_send and gradstep_comm_recv: point to point, matched in order per pair of ranks, any dtype; both sides
 * have the same number of bytes. Either may wait for the other.
 * Returns: INVALID_ARGUMENT (tensor; the peer outside the world, or this rank itself), INVALID_STATE (in use),
 * UNSUPPORTED (a host gave no send and recv; not contiguous, or of no whole bytes), and the statuses of a collective
 * call.
 */
GRADSTEP_API gradstep_status gradstep_comm_send(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t to,
                                                void* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_comm_recv(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t from,
                                                void* stream) GRADSTEP_NOEXCEPT;

/* Waits until all ranks have entered. Returns: INVALID_ARGUMENT, INVALID_STATE (in use), and the statuses of a
 * collective call. */
GRADSTEP_API gradstep_status gradstep_comm_barrier(gradstep_comm* comm) GRADSTEP_NOEXCEPT;

/* *all_yes = 1 if every rank passed a non-zero `yes`, else 0; the same on all ranks.
 * Returns: INVALID_ARGUMENT (all_yes NULL), INVALID_STATE (in use), and the statuses of a collective call. */
GRADSTEP_API gradstep_status gradstep_comm_vote(gradstep_comm* comm, int32_t yes, int32_t* all_yes) GRADSTEP_NOEXCEPT;

/*
 * Ranks with the same color (>= 0) form a new communicator, ordered by (key, rank); *out = NULL for color < 0, else the
 * caller's to destroy. Collective. It has a channel of its own, but of a host's communicator: see dup in its vtable.
 * Returns: INVALID_ARGUMENT (out NULL), INVALID_STATE (in use), UNSUPPORTED (a host gave no send and recv),
 * OUT_OF_MEMORY, and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_comm_split(gradstep_comm* comm, int32_t color, int32_t key,
                                                 gradstep_comm** out) GRADSTEP_NOEXCEPT;

/* *out = a communicator of the same ranks with a channel of its own, the caller's to destroy. Collective. For a host's
 * communicator see dup in its vtable. Returns: INVALID_ARGUMENT (out NULL), INVALID_STATE (in use), OUT_OF_MEMORY, and
 * the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_comm_dup(gradstep_comm* comm, gradstep_comm** out) GRADSTEP_NOEXCEPT;

/*
 * Ends a waiting call and breaks the communicator with ABORTED, and with it the private channels of the reducers and
 * sharded optimizers that were made with it (not those of dup and split); peers see PEER_LOST, ABORTED or TIMEOUT. Any
 * thread, also while another one is in a call; not from a signal handler.
 * Returns: INVALID_ARGUMENT (comm NULL).
 */
GRADSTEP_API gradstep_status gradstep_comm_abort(gradstep_comm* comm) GRADSTEP_NOEXCEPT;

/*
 * *status = OK, or the error that broke the communicator, whose text goes to buf (text, see base.h). Any thread, also
 * while another one is in a call. OK has no text. An error and its text never change. With buf NULL, *len is the size
 * of that text, which later calls need too.
 * Returns: INVALID_ARGUMENT (status NULL, cap is too small).
 */
GRADSTEP_API gradstep_status gradstep_comm_status(gradstep_comm* comm, gradstep_status* status, char* buf, size_t cap,
                                                  size_t* len) GRADSTEP_NOEXCEPT;

/* *stats = the counts since creation; stats->struct_size is set by the caller.
 * Returns: INVALID_ARGUMENT (stats NULL, a bad struct_size), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_comm_stats(gradstep_comm* comm,
                                                 gradstep_comm_statistics* stats) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_COMM_H */
