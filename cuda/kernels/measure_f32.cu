// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure_kernels.h"

const gradstep::cuda::MeasuresByRule gradstep::cuda::kMeasures_f32 = kMeasuresByRule<float>;
