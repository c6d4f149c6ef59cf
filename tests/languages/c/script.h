/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * script.h: a script of calls, cut into words; data and hashes. README.md one folder up has the format. What is wrong
 * with a script ends the program, with its name and line.
 */
#ifndef GRADSTEP_LANGUAGES_SCRIPT_H
#define GRADSTEP_LANGUAGES_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

enum { kMaxKeys = 24, kMaxList = 32, kMaxName = 64 };

typedef struct script_line {
  const char* script;
  int number;
  const char* call;
  int n_keys;
  const char* keys[kMaxKeys];
  const char* values[kMaxKeys];
} script_line;

typedef struct script {
  char name[kMaxName];
  char* text; /* the lines point into it */
  script_line* lines;
  size_t n_lines;
} script;

/* Ends the program with "<script>:<line>: <call>: " and the message. */
__attribute__((noreturn, format(printf, 2, 3))) void die(const script_line* line, const char* format, ...);

/* The file's bytes and a NUL, which the caller frees. Ends the program if there is no such file. */
char* read_file(const char* path, size_t* size);

/* `s` is free_script's to end, and stays where it is meanwhile: its lines name it. */
void read_script(const char* directory, const char* file_name, script* s);
void free_script(script* s);

/* The value of a key, or NULL. */
const char* value_of(const script_line* line, const char* key);
double number_of(const script_line* line, const char* key, double otherwise);
int64_t integer_of(const script_line* line, const char* key, int64_t otherwise);
/* A list of numbers; -1 if the key is not there. */
int integers_of(const script_line* line, const char* key, int64_t* list);
int numbers_of(const script_line* line, const char* key, double* list);

/* The place of `word` in "first,second,...", or -1. */
int place_in(const char* words, const char* word);

/* FNV-1a, 64 bits. */
#define HASH_START 0xCBF29CE484222325U
uint64_t hash_bytes(uint64_t hash, const void* data, size_t size);

enum data_kind { kDataParameter = 1, kDataGradient = 2, kDataRows = 3 };

enum data_type { kF32, kF64, kF16, kBf16 };
#define DATA_TYPES "f32,f64,f16,bf16"
size_t size_of_type(enum data_type type);

/* Writes n elements of the tensor that README.md's word(kind, call, rank, parameter, ...) describes. */
void generate(enum data_kind kind, uint64_t call, uint64_t rank, uint64_t parameter, enum data_type type, size_t n,
              void* to);

#endif
