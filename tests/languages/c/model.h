/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* model.h: a rank's parameters and gradients, and the hash of what it sees. */
#ifndef GRADSTEP_LANGUAGES_MODEL_H
#define GRADSTEP_LANGUAGES_MODEL_H

#include "rank.h"

/* The call's own status is what the line says, or the program ends. */
void check(const script_line* line, gradstep_status status);

/* A parameter's index that the line gives under `key`; the program ends where the model has none such. */
size_t index_of(const rank* r, const script_line* line, const char* key, int64_t index);

size_t elements_of(const gradstep_tensor* tensor);

/* Zeros on the heap, for free() to end. The shape stays the caller's. */
gradstep_tensor make_tensor(const script_line* line, enum data_type type, int64_t* shape, int32_t ndim);

void add_parameter(rank* r, const script_line* line);

/* The tensors' elements, one after the other, from a file in the script's folder. */
void read_data(rank* r, const script_line* line, const gradstep_tensor* tensors);

/* The gradients of a call: results of a handle if the line says so. */
#define GRADIENT_KEYS "missing,nan,data,from"
gradstep_status gradients_of(rank* r, const script_line* line, gradstep_tensor* tensors);

/* Into the rank's hash; all NaNs are one, and a tensor without data is nothing. */
void feed_int32(rank* r, int32_t number);
void feed_int64(rank* r, int64_t number);
void feed_number(rank* r, double number);
void feed_tensor(rank* r, const gradstep_tensor* tensor);

#endif
