// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Makes communicators: one function per engine.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace gradstep {

inline constexpr std::int32_t kMaxLocalRanks = 1024;

std::shared_ptr<Communicator> make_self_communicator(std::shared_ptr<Context> context, const CommSettings& settings);

/// One per rank; each belongs to the thread that plays the rank.
std::vector<std::shared_ptr<Communicator>> make_local_communicators(const std::shared_ptr<Context>& context,
                                                                    std::int32_t world_size,
                                                                    const CommSettings& settings);

/// Collective. Owns `user` from the call on.
std::shared_ptr<Communicator> make_host_communicator(std::shared_ptr<Context> context,
                                                     const gradstep_comm_vtable& vtable, void* user,
                                                     const CommSettings& settings);

/// Collective: connects processes that meet in a store, by options.engine: "shm", over shared memory; "gloo", through
/// the gloo plugin; "auto", by shm if all of them run on one host, else by gloo; "nccl", as auto, and the memory of
/// CUDA device options.device by NCCL. The strings and structs that `options` points to are read during the call;
/// options.store's release is the caller's business.
std::shared_ptr<Communicator> make_met_communicator(std::shared_ptr<Context> context,
                                                    const gradstep_comm_options& options);

/// Collective: connects through the mpi plugin. Reads timeout_ms and reduction_order of `options`. `native` points to
/// an MPI_Comm, which is duplicated; NULL = MPI_COMM_WORLD.
std::shared_ptr<Communicator> make_mpi_communicator(std::shared_ptr<Context> context,
                                                    const gradstep_comm_options& options, const void* native);

/// Whether this system has engines that connect processes. If not, make_met_communicator, make_mpi_communicator,
/// make_unique_id and count_newcomers throw UNSUPPORTED.
extern const bool kConnectsProcesses;

using UniqueId = std::array<std::byte, 40>;

/// The bytes by which ranks meet in a new store of this process. `network_interface` as in own_address(). Throws
/// INVALID_ARGUMENT or IO.
UniqueId make_unique_id(const char* network_interface);

/// How many of the ranks from `first` on wait in the store of `options`. Throws what the store does.
std::int32_t count_newcomers(const gradstep_comm_options& options, std::int32_t first, const Deadline& deadline);

}  // namespace gradstep
