/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A linear model of correlated inputs is fitted by Adam and by Shampoo with steps of the same length.
 *
 * The inputs are random walks, so neighbouring ones say almost the same: what an optimizer with one rate for each
 * element is slow at. The weight matrix is preconditioned, the bias is not. Half-way Shampoo's state goes through a
 * file into a new optimizer, and the parameters must end with the bits of a run without that stop.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gradstep/gradstep.h>

#define CHECK(call)                                                                              \
  do {                                                                                           \
    const gradstep_status check_status = (call);                                                 \
    if (check_status != GRADSTEP_OK) {                                                           \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, gradstep_status_name(check_status), \
              gradstep_last_error());                                                            \
      exit(EXIT_FAILURE);                                                                        \
    }                                                                                            \
  } while (0)

enum { kInputs = 32, kOutputs = 8, kBatch = 64, kUpdates = 200, kParameters = 2, kMaxMetrics = 64 };

static const char* const kFile = "example_shampoo.safetensors";
static const gradstep_device kCpu = {GRADSTEP_DEVICE_CPU, 0};
static const gradstep_dtype kF32 = {GRADSTEP_TYPE_FLOAT, 32, 1};

/* The host's parameters, and likewise their gradients. */
typedef struct model {
  float weight[kInputs * kOutputs];
  float bias[kOutputs];
} model;

static int64_t weight_shape[] = {kInputs, kOutputs};
static int64_t bias_shape[] = {kOutputs};

/* A number between -1 and 1 from a counter: the same data in every run. */
static float number(uint32_t counter) {
  uint32_t hash = counter * 2654435761u;
  hash = (hash ^ (hash >> 15)) * 2246822519u;
  hash ^= hash >> 13;
  return (float)(hash >> 8) / 8388608 - 1;
}

/* Gradient of the mean squared error over one batch; returns the error. */
static double squared_error_gradient(const model* m, uint32_t first_point, model* gradient) {
  double error = 0;
  memset(gradient, 0, sizeof *gradient);
  for (uint32_t point = first_point; point < first_point + kBatch; ++point) {
    float input[kInputs];
    float walk = 0;
    for (uint32_t i = 0; i < kInputs; ++i) input[i] = walk += number(point * kInputs + i + 1) / 4;
    for (uint32_t o = 0; o < kOutputs; ++o) {
      float residual = m->bias[o] - 0.5F;
      for (uint32_t i = 0; i < kInputs; ++i) {
        const uint32_t at = i * kOutputs + o;
        residual += (m->weight[at] - number(0x40000000 + at)) * input[i]; /* from the weight that the data come from */
      }
      error += (double)(residual * residual) / (double)kBatch;
      for (uint32_t i = 0; i < kInputs; ++i)
        gradient->weight[i * kOutputs + o] += 2 * residual * input[i] / (float)kBatch;
      gradient->bias[o] += 2 * residual / (float)kBatch;
    }
  }
  return error;
}

/* Shampoo with Adam's learning rate and length of a step. */
static gradstep_optimizer* create_shampoo(gradstep_context* context, double learning_rate,
                                          const gradstep_parameter* parameters) {
  gradstep_optimizer* shampoo = NULL;
  gradstep_shampoo_options options;
  CHECK(gradstep_shampoo_options_init(&options, sizeof options));
  options.learning_rate = learning_rate;
  options.graft_type = GRADSTEP_GRAFT_TYPE_ADAM; /* a direction gets the length of Adam's, */
  options.graft_beta1 = 0;                       /* averaged over time once: here not, */
  options.moving_average_for_momentum = 1;       /* but by beta1 after it */
  options.nesterov = 0;
  options.preconditioning_compute_steps = 10; /* new roots in every tenth step */
  CHECK(gradstep_optimizer_create_shampoo(context, &options, parameters, kParameters, &shampoo));
  /* Group 1, the bias, stays with Adam itself. */
  CHECK(gradstep_optimizer_set_value(shampoo, 1, "precondition", 0));
  CHECK(gradstep_optimizer_set_value(shampoo, 1, "graft_beta1", options.beta1));
  CHECK(gradstep_optimizer_set_value(shampoo, 1, "beta1", 0));
  return shampoo;
}

/* Updates `begin` to `end`; returns the squared error on points that are not trained on. */
static double train(gradstep_optimizer* optimizer, model* m, int begin, int end) {
  const gradstep_tensor parameters[] = {
      {.data = m->weight, .device = kCpu, .ndim = 2, .dtype = kF32, .shape = weight_shape},
      {.data = m->bias, .device = kCpu, .ndim = 1, .dtype = kF32, .shape = bias_shape}};
  model gradient;
  gradstep_tensor gradients[] = {parameters[0], parameters[1]};
  gradients[0].data = gradient.weight;
  gradients[1].data = gradient.bias;
  for (int update = begin; update < end; ++update) {
    (void)squared_error_gradient(m, (uint32_t)update * kBatch, &gradient);
    CHECK(gradstep_optimizer_step(optimizer, parameters, gradients, kParameters, NULL));
  }
  return squared_error_gradient(m, 1000000, &gradient);
}

/* How the roots of the preconditioners went: one record for each number, parameter, block and axis. */
static void print_roots(gradstep_optimizer* shampoo) {
  gradstep_metric metrics[kMaxMetrics];
  size_t count = 0;
  CHECK(gradstep_optimizer_metrics(shampoo, metrics, sizeof metrics[0], kMaxMetrics, &count));
  for (size_t i = 0; i < count && i < kMaxMetrics; ++i) {
    if (metrics[i].parameter < 0) continue; /* about the optimizer, such as its step count */
    printf("  parameter %d, block %d, axis %d: %s %g\n", (int)metrics[i].parameter, (int)metrics[i].block,
           (int)metrics[i].axis, metrics[i].name, metrics[i].value);
  }
}

int main(void) {
  const double learning_rate = 0.1;
  const gradstep_parameter parameters[kParameters] = {{.struct_size = sizeof parameters[0],
                                                       .name = "weight",
                                                       .shape = weight_shape,
                                                       .ndim = 2,
                                                       .dtype = kF32,
                                                       .device = kCpu,
                                                       .group = 0},
                                                      {.struct_size = sizeof parameters[0],
                                                       .name = "bias",
                                                       .shape = bias_shape,
                                                       .ndim = 1,
                                                       .dtype = kF32,
                                                       .device = kCpu,
                                                       .group = 1}};
  gradstep_context* context = NULL;
  CHECK(gradstep_context_create(NULL, &context));

  gradstep_optimizer* adam = NULL;
  gradstep_adam_options adam_options;
  CHECK(gradstep_adam_options_init(&adam_options, sizeof adam_options));
  adam_options.learning_rate = learning_rate;
  CHECK(gradstep_optimizer_create_adam(context, &adam_options, parameters, kParameters, &adam));
  gradstep_optimizer* shampoo = create_shampoo(context, learning_rate, parameters);

  model by_adam = {{0}, {0}};
  model by_shampoo = {{0}, {0}};
  double adam_error = 0, shampoo_error = 0;
  for (int update = 0; update < kUpdates; update += 50) {
    adam_error = train(adam, &by_adam, update, update + 50);
    shampoo_error = train(shampoo, &by_shampoo, update, update + 50);
    printf("update %3d: squared error %.5f with Adam, %.5f with Shampoo\n", update + 50, adam_error, shampoo_error);
  }
  printf("Shampoo's roots:\n");
  print_roots(shampoo);

  /* Once more, with a stop half-way. */
  model resumed = {{0}, {0}};
  gradstep_optimizer* first = create_shampoo(context, learning_rate, parameters);
  (void)train(first, &resumed, 0, kUpdates / 2);
  /* docs:begin save */
  CHECK(gradstep_optimizer_save_file(first, kFile));
  /* docs:end save */
  gradstep_optimizer_destroy(first);
  gradstep_optimizer* second = create_shampoo(context, learning_rate, parameters);
  /* docs:begin load */
  CHECK(gradstep_optimizer_load_file(second, kFile, NULL));
  /* docs:end load */
  (void)train(second, &resumed, kUpdates / 2, kUpdates);
  const int same = memcmp(&resumed, &by_shampoo, sizeof resumed) == 0;
  printf("resumed half-way: %s\n", same ? "the same bits" : "DIFFERENT BITS");

  remove(kFile);
  gradstep_optimizer_destroy(second);
  gradstep_optimizer_destroy(shampoo);
  gradstep_optimizer_destroy(adam);
  gradstep_context_destroy(context);
  return same && shampoo_error < adam_error ? EXIT_SUCCESS : EXIT_FAILURE;
}
