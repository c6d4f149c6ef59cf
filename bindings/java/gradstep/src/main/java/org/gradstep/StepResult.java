// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/**
 * What a step did.
 *
 * @param applied false = it was skipped
 * @param gradNorm of the gradients before grad_scale; NaN where the step had no need to know it
 * @param clipCoefficient 1 where nothing was clipped
 */
public record StepResult(boolean applied, double gradNorm, double clipCoefficient) {}
