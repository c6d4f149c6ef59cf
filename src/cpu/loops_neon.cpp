// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#define GRADSTEP_INSTRUCTION_SET neon
#include "cpu/loops/table.inc"
