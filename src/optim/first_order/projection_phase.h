// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Momenta of matrices whose parts of low rank become changes (rules/projection.h): the products of the reducer's
// PowerSGD, and what lies between them.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/exchange.h"
#include "backend/site.h"
#include "backend/step.h"
#include "core/held_bytes.h"

namespace gradstep {

class ProjectionPhase {
 public:
  /// `site` outlives it.
  explicit ProjectionPhase(const Site& site) : site_(site) {}

  /// Gives the items scratch, and takes all that a step needs.
  void set_items(std::vector<ProjectedItem> items);
  bool has_work() const { return !items_.empty(); }
  /// After the update of those items: their gradients become changes, if the step is made.
  void run(const kernels::StepScalars* scalars);

  std::size_t bytes() const {
    return held_bytes(scratch_, squares_and_scales_, work_, product_work_, items_, products_, by_dtype_[0],
                      by_dtype_[1], norms_.prepared, plan_.prepared);
  }

 private:
  /// Products of matrices of one dtype, in the order of the step. [1]: of transposed matrices.
  struct Products {
    std::vector<LowRank> bases[2];    ///< P
    std::vector<LowRank> vectors;     ///< P as m's p, to be made orthonormal
    std::vector<LowRank> factors[2];  ///< R
    LowRankPlan base_plans[2];
    LowRankPlan vector_plan;
    LowRankPlan factor_plans[2];

    std::size_t bytes() const {
      return held_bytes(bases[0], bases[1], vectors, factors[0], factors[1], base_plans[0].prepared,
                        base_plans[1].prepared, vector_plan.prepared, factor_plans[0].prepared,
                        factor_plans[1].prepared);
    }
  };

  void make_room();
  void list_products();

  const Site& site_;
  std::vector<ProjectedItem> items_;
  Buffer scratch_;             // P and R of all
  Buffer squares_and_scales_;  // f64: partial sums of R, scales
  WorkList work_;
  WorkList product_work_;
  std::vector<Array> products_;  // factors of R
  Products by_dtype_[2];         // f32, f64
  NormPlan norms_;
  ProjectionPlan plan_;
};

}  // namespace gradstep
