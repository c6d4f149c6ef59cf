/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * cost.h: what an exchange of gradients will cost in each mode of a reducer, on a network that need not be there.
 *
 * The amounts (rounds, bytes, elements converted, selected, summed) are those by which reducer mode AUTO chooses; here
 * a network in numbers and a processor in numbers put a price on them. P ranks lie on hosts of H each, which share one
 * full-duplex link of `bandwidth` B and latency L; inside a host every rank has host_bandwidth b and host_latency l.
 * A rank is busy for `message` o with each message that it sends (LogP's overhead).
 *
 *   OWN           gradstep's own collectives: a round in which every rank sends to every other one takes L + (P - 1) o,
 *                 and a byte ((P - H) H / B + (H - 1) / b) / (P - 1) seconds. An all-reduce of n bytes is one round if
 *                 (P - 1) n <= 64 KiB, else two for each 8 MiB of what a rank owns, and 2 n (P - 1) / P bytes; with
 *                 no_exchange one for each 1 MiB of n, and n (P - 1) bytes. Between more than 16 ranks of
 *                 several hosts a gather of at most 1 MiB in all takes ceil(log8 P) rounds of L + 7 o, unless
 *                 no_exchange or no_stages. (AUTO counts 2 MiB in place of 8 on engines whose ranks share memory.)
 *   RING          2 (P - 1) (L + o + n / (P B)), the slower of the two links in every step
 *   TREE          recursive halving and doubling, Rabenseifner: 2 log2(P) (L + o) + 2 n (P - 1) / P / B where H is 1;
 *                 the farthest ranks meet first, so that H ranks of a host share its link. 2 (L + o + n H / B) more
 *                 unless P / H is a power of two.
 *   HIERARCHICAL  reduce-scatter and all-gather inside hosts by OWN, and RING or TREE between them, whichever is less
 *   HOSTS         one round inside each host, in which its ranks get their pieces; OWN between the P / H ranks that
 *                 have the same piece; one round inside each host, in which they give the sums. Inside, a round takes
 *                 l + (H - 1) o and a byte 1 / b; between hosts L + (P / H - 1) o and H / B. Gathers between more
 *                 than 16 hosts take stages likewise. INT8, INT4 and FP8: f32 in the first round, codes in a round
 *                 and a gather between hosts, and these codes in the last. Adasum: its pieces are summed in the first
 *                 round and merged between hosts; dots are gathered between hosts and inside them.
 *
 * A window's gradients are all there at once. Between hosts, unless no_exchange or no_stages, buckets of SPARSE_TOPK
 * and POWERSGD that follow one another on a channel then have the rounds of one, as many as give 1 MiB together, or 16
 * MiB / P if that is less. The control all-reduce joins a gather of theirs if (P - 1) times its bytes are at most 64
 * KiB. Adasum and sparse sums have exchanges of their own. With several channels, the delays of own rounds and of rings
 * are divided by the number of buckets that are under way at once. Nothing else overlaps, and ranks are in step.
 * Sources: Thakur, Rabenseifner, Gropp 2005 (ring, tree); Culler et al. 1993 (LogP).
 */
#ifndef GRADSTEP_COST_H
#define GRADSTEP_COST_H

#include "gradstep/context.h"
#include "gradstep/reducer.h"

#if defined(__cplusplus)
extern "C" {
#endif

enum gradstep_cost_algorithm {
  GRADSTEP_COST_INVALID = -1,
  GRADSTEP_COST_OWN = 0, /* gradstep's own collectives */
  /* All-reduces that an engine or a host may have. */
  GRADSTEP_COST_RING = 1,         /* a ring: what reduction order ENGINE does over Gloo */
  GRADSTEP_COST_TREE = 2,         /* recursive halving and doubling */
  GRADSTEP_COST_HIERARCHICAL = 3, /* inside hosts, then between them */
  /* Exchanges of SPARSE_TOPK, see enum gradstep_sparse_exchange. */
  GRADSTEP_COST_SPARSE_GATHER = 4, /* all ranks get every selection */
  GRADSTEP_COST_SPARSE_SPLIT = 5,  /* each rank sums a share */
  GRADSTEP_COST_HOSTS = 6          /* gradstep's own sums by hosts, see enum gradstep_reduction_order */
};

typedef struct gradstep_cost_options {
  uint32_t struct_size;
  int32_t element_bytes;   /* size in the reducer's arithmetic: 4, the default, or 8 for f64 */
  int64_t elements;        /* in all parameters, >= 1; not set by init */
  int64_t ranks;           /* P, 1 to 100000; not set by init */
  int64_t ranks_per_host;  /* H, divides P; default 1 */
  int64_t bucket_elements; /* >= 1: elements travel in equal buckets of at most so many; default 2097152 */
  double bandwidth;        /* B, bytes a second each way, > 0; not set by init */
  double latency;          /* L, seconds, >= 0; not set by init */
  double host_bandwidth;   /* b, default 5e9 */
  double host_latency;     /* l, default 5e-6 */
  double message;          /* o, seconds, default 2e-6 */
  double sparsity;         /* SPARSE_TOPK: 0 < sparsity <= 1, default 0.01 */
  int32_t rank;            /* POWERSGD: >= 1, default 2 */
  int32_t no_exchange;     /* bool: the engine can only gather, as a host with nothing but all_gather */
  int64_t rows;            /* POWERSGD: the elements lie in matrices of rows x columns; >= 1, default 1024 */
  int64_t columns;         /* POWERSGD: see rows; >= 1, default 1024 */
  /* One rank's work on an element, >= 0; the defaults are those of one core of an AMD EPYC (AVX-512). */
  double pack_seconds;        /* into a bucket */
  double convert_seconds;     /* to 16 bits, and back */
  double select_seconds;      /* when the largest are selected */
  double entry_seconds;       /* for an entry of a sparse list that is summed */
  double add_seconds;         /* to a dense sum */
  double merge_seconds;       /* into another vector, by Adasum */
  double multiply_seconds;    /* by one column, for PowerSGD; each further column takes a fifth of it */
  int64_t control_parameters; /* > 0: a window has the control all-reduce of so many parameters; 0, the default: none */
  int32_t channels;      /* 0 to 16: buckets under way at once, see gradstep_reducer_options; 0, the default: one */
  int32_t no_stages;     /* bool: the engine gathers few bytes directly, as MPI does; 0, the default: as Gloo does */
  double encode_seconds; /* as convert_seconds, into codes of 8 bits or 4; 0: half of that */
  double decode_seconds; /* out of codes; 0: likewise */
} gradstep_cost_options;

/* One way to exchange all elements once. */
typedef struct gradstep_cost {
  uint32_t struct_size;
  int32_t mode;      /* enum gradstep_reducer_mode */
  int32_t algorithm; /* enum gradstep_cost_algorithm */
  int32_t reserved;
  int64_t bytes;          /* that a rank sends */
  double seconds;         /* in all; of these: */
  double network_seconds; /* messages and bytes */
  /* As gradstep_reducer_comm_stats counts them; an engine's own all-reduce is one call and, but for RING, one round. */
  int64_t calls;  /* all_reduces + all_gathers + exchanges */
  int64_t rounds; /* in which every rank of a group sends to others */
} gradstep_cost;

/* Writes the defaults into the struct_size bytes at o; bandwidth and latency become NaN, elements and ranks 0.
 * Returns: INVALID_ARGUMENT (o NULL, a bad struct_size). */
GRADSTEP_API gradstep_status gradstep_cost_options_init(gradstep_cost_options* o, size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * pack_seconds to multiply_seconds, encode_seconds and decode_seconds of *o = what they are here, by the threads of
 * `context`. Arrays have o->elements numbers, of 1 MiB at least and 16 MiB at most (0: 16 MiB): they lie in caches or
 * in memory as those of a window do. o was filled by gradstep_cost_options_init; its other fields stay as they are.
 * Returns: INVALID_ARGUMENT (a NULL, a bad struct_size), OUT_OF_MEMORY, CALLBACK (parallel_for).
 */
GRADSTEP_API gradstep_status gradstep_cost_options_measure(gradstep_cost_options* o,
                                                           gradstep_context* context) GRADSTEP_NOEXCEPT;

/*
 * Writes up to `capacity` records of record_size bytes: DENSE, HALF, BFLOAT16 and POWERSGD by every all-reduce
 * (HIERARCHICAL and, unless no_exchange, HOSTS where 1 < H < P), INT8, INT4, FP8_E4M3 and FP8_E5M2 (where element_bytes
 * is 4), ADASUM_TREE and ADASUM_NWAY by OWN and HOSTS likewise, SPARSE_TOPK by gather and, unless no_exchange, by
 * split. *count = how many there are. records NULL only counts. Not collective; opens no connection. Returns:
 * INVALID_ARGUMENT (a NULL, a field that breaks its rule, a record_size that no version has), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_predict_costs(const gradstep_cost_options* options, gradstep_cost* records,
                                                    size_t record_size, size_t capacity,
                                                    size_t* count) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_COST_H */
