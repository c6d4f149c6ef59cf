// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/**
 * Option "adaptive_clip_units" of every rule: the elements that are clipped together. A tensor of one axis is one
 * unit. Source: Brock et al. 2021, High-Performance Large-Scale Image Recognition Without Normalization.
 */
public enum AdaptiveClipUnits {
  /** All but the first axis: the weights of an output. */
  ROWS(core.ADAPTIVE_CLIP_UNITS_ROWS),
  /** The first of two or three axes, all but the last of more: optax. */
  COLUMNS(core.ADAPTIVE_CLIP_UNITS_COLUMNS),
  /** The second of two or three, all but the first of more: pytorchOptimizer. */
  SECOND(core.ADAPTIVE_CLIP_UNITS_SECOND);

  final int code;

  AdaptiveClipUnits(int code) {
    this.code = code;
  }
}
