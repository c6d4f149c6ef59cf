// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is used of NCCL, from 2.14 on. Prototypes and numbers are those of its reference (nccl.h); its headers are not
// needed.
#pragma once

#include <cuda_runtime_api.h>

#include <climits>
#include <cstddef>
#include <cstdint>

struct ncclComm;  // of the library

namespace gradstep::cuda {

/// ncclResult_t.
enum class NcclResult : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
};

/// ncclDataType_t and ncclRedOp_t, as far as they are used.
enum class NcclType : int { int8 = 0, int32 = 2, int64 = 4, float32 = 7, float64 = 8 };
enum class NcclOperation : int { sum = 0, max = 2, min = 3 };

/// ncclUniqueId.
struct NcclId {
  char bytes[128];
};

/// ncclConfig_t as of 2.18, which later versions take; only `blocking` is set.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = 0;
  int cga_cluster_size = INT_MIN;  // not set, as what follows
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
};

struct NcclFunctions {
  NcclResult (*get_unique_id)(NcclId* id);
  NcclResult (*init)(ncclComm** comm, int ranks, NcclId id, int rank, NcclConfig* config);
  NcclResult (*finalize)(ncclComm* comm);
  NcclResult (*destroy)(ncclComm* comm);
  NcclResult (*abort)(ncclComm* comm);
  NcclResult (*get_async_error)(ncclComm* comm, NcclResult* error);
  NcclResult (*count)(const ncclComm* comm, int* ranks);
  NcclResult (*user_rank)(const ncclComm* comm, int* rank);
  NcclResult (*device)(const ncclComm* comm, int* device);
  NcclResult (*all_reduce)(const void* send, void* receive, std::size_t count, NcclType type, NcclOperation operation,
                           ncclComm* comm, cudaStream_t stream);
  NcclResult (*all_gather)(const void* send, void* receive, std::size_t count, NcclType type, ncclComm* comm,
                           cudaStream_t stream);
  NcclResult (*reduce_scatter)(const void* send, void* receive, std::size_t count, NcclType type,
                               NcclOperation operation, ncclComm* comm, cudaStream_t stream);
  NcclResult (*broadcast)(const void* send, void* receive, std::size_t count, NcclType type, int root, ncclComm* comm,
                          cudaStream_t stream);
  NcclResult (*send)(const void* send, std::size_t count, NcclType type, int peer, ncclComm* comm, cudaStream_t stream);
  NcclResult (*receive)(void* receive, std::size_t count, NcclType type, int peer, ncclComm* comm, cudaStream_t stream);
  NcclResult (*group_start)();
  NcclResult (*group_end)();
  const char* (*error_string)(NcclResult result);
};

/// The process's own. Throws BACKEND_UNAVAILABLE where there is no NCCL.
const NcclFunctions& nccl_functions();

}  // namespace gradstep::cuda
