// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/nccl.h"

#include "libraries/library.h"

namespace gradstep::cuda {

namespace {

NcclFunctions open_nccl() {
  constexpr const char* kSonames[] = {"libnccl.so.2"};
  const Library library("NCCL", "communication between CUDA devices", kSonames);
  NcclFunctions functions{};
  library.find(functions.get_unique_id, "ncclGetUniqueId");
  library.find(functions.init, "ncclCommInitRankConfig");
  library.find(functions.finalize, "ncclCommFinalize");
  library.find(functions.destroy, "ncclCommDestroy");
  library.find(functions.abort, "ncclCommAbort");
  library.find(functions.get_async_error, "ncclCommGetAsyncError");
  library.find(functions.count, "ncclCommCount");
  library.find(functions.user_rank, "ncclCommUserRank");
  library.find(functions.device, "ncclCommCuDevice");
  library.find(functions.all_reduce, "ncclAllReduce");
  library.find(functions.all_gather, "ncclAllGather");
  library.find(functions.reduce_scatter, "ncclReduceScatter");
  library.find(functions.broadcast, "ncclBroadcast");
  library.find(functions.send, "ncclSend");
  library.find(functions.receive, "ncclRecv");
  library.find(functions.group_start, "ncclGroupStart");
  library.find(functions.group_end, "ncclGroupEnd");
  library.find(functions.error_string, "ncclGetErrorString");
  return functions;
}

}  // namespace

const NcclFunctions& nccl_functions() {
  static const NcclFunctions functions = open_nccl();
  return functions;
}

}  // namespace gradstep::cuda
