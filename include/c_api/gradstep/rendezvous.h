/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * rendezvous.h: who waits to join a job. docs/how_to/grow_and_shrink.md has a job that ranks join and leave.
 */
#ifndef GRADSTEP_RENDEZVOUS_H
#define GRADSTEP_RENDEZVOUS_H

#include "gradstep/comm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/*
 * gradstep_rendezvous_pending: *pending = how many newcomers wait for a larger world: of its ranks from comm's world
 * size on, those that have called gradstep_comm_create with the same rendezvous, generation and world_size, and still
 * wait there. `options` are those with which a rank of comm would join them; timeout_ms is not read.
 *
 * Collective over comm: its rank 0 asks the store, and all ranks get the same answer, so that they join in the same
 * window. The price is a broadcast of 4 bytes, and for rank 0 a question to the store for each newcomer that may come.
 * comm NULL = this process asks by itself, for all ranks of that world. The call waits for no rank. A newcomer that was
 * killed still counts: then gradstep_comm_create ends by TIMEOUT, and comm is as it was.
 *
 * The store of gradstep_comm_unique_id ends when all ranks of its world have met: make an id for each world. A
 * directory and a host's store serve all generations.
 * Returns: INVALID_ARGUMENT (an engine without a rendezvous; none or two rendezvous; a world_size that is not larger
 * than comm's; a rank outside it), UNSUPPORTED (elsewhere than on Linux), ABORTED (rank 0 could not ask), IO, TIMEOUT
 * and CALLBACK (the store), OUT_OF_MEMORY, and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_rendezvous_pending(gradstep_comm* comm, const gradstep_comm_options* options,
                                                         int32_t* pending) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_RENDEZVOUS_H */
