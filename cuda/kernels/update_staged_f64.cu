// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/update_kernels.h"

const gradstep::cuda::UpdatesByRule gradstep::cuda::kStagedUpdates_f64 = kUpdatesByRule<double, StagedWay>;
