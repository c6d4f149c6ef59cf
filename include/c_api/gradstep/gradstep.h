/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * gradstep.h: everything. gradstep turns gradients into parameter updates on buffers that the host owns:
 *
 *   host gradients -> accumulator -> reducer -> optimizer -> host parameters
 *                     micro-batches  over a     SGD ... Adam
 *                                    communicator
 *                     `-------- the updater drives all three --------'
 *
 * Each handle is useful alone. Start with examples/c/accumulate and examples/c/data_parallel.
 */
#ifndef GRADSTEP_GRADSTEP_H
#define GRADSTEP_GRADSTEP_H

#include "gradstep/accumulator.h"
#include "gradstep/backend.h"
#include "gradstep/base.h"
#include "gradstep/comm.h"
#include "gradstep/context.h"
#include "gradstep/cost.h"
#include "gradstep/optimizer.h"
#include "gradstep/reducer.h"
#include "gradstep/rendezvous.h"
#include "gradstep/rule.h"
#include "gradstep/rules.h"
#include "gradstep/schedule.h"
#include "gradstep/shampoo.h"
#include "gradstep/sharding.h"
#include "gradstep/state.h"
#include "gradstep/tensor.h"
#include "gradstep/trace.h"
#include "gradstep/updater.h"

#endif /* GRADSTEP_GRADSTEP_H */
