// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Roots that threads of the context's background lane compute beside the steps, or the pool when they are due. Which
// thread computed a root, and when, changes nothing.
#pragma once

#include <memory>

#include "backend/context.h"
#include "cpu/linear_algebra/compute_root.h"
#include "cpu/loops.h"

namespace gradstep::cpu {

class CpuRootRun final : public RootRun {
 public:
  CpuRootRun(Context& context, const Loops& loops, const RootTools& tools, Workspaces& workspaces)
      : context_(context), loops_(loops), tools_(tools), workspaces_(workspaces) {}
  CpuRootRun(const CpuRootRun&) = delete;
  CpuRootRun& operator=(const CpuRootRun&) = delete;
  ~CpuRootRun() override { CpuRootRun::stop(); }

  void begin(std::span<const RootJob> jobs, std::span<RootRecord> records, bool in_background,
             Queue& /*queue*/) override;
  void finish(Queue& /*queue*/) override;
  void stop() override;

 private:
  void run(std::size_t at, const RootTools& tools);

  Context& context_;
  const Loops& loops_;
  RootTools tools_;
  Workspaces& workspaces_;
  std::span<const RootJob> jobs_;
  std::span<RootRecord> records_;
  bool pending_ = false;
  std::shared_ptr<BackgroundJob> job_;  // NULL = all is left to finish()
};

}  // namespace gradstep::cpu
