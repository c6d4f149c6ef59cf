/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const script_line* line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (line != NULL) fprintf(stderr, "%s.script:%d: %s: ", line->script, line->number, line->call);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(EXIT_FAILURE);
}

char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* text = NULL;
  long length = -1;
  if (file == NULL) die(NULL, "%s: %s", path, strerror(errno));
  if (fseek(file, 0, SEEK_END) == 0) length = ftell(file);
  if (length >= 0) text = calloc((size_t)length + 1, 1);
  rewind(file);
  if (text == NULL || fread(text, 1, (size_t)length, file) != (size_t)length) die(NULL, "%s: cannot be read", path);
  fclose(file);
  *size = (size_t)length;
  return text;
}

static void read_words(char* text, script_line* line) {
  for (char* word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
    if (line->call == NULL) {
      line->call = word;
      continue;
    }
    char* equals = strchr(word, '=');
    if (equals == NULL) die(line, "'%s' is not key=value", word);
    if (line->n_keys == kMaxKeys) die(line, "more than %d keys", kMaxKeys);
    *equals = '\0';
    line->keys[line->n_keys] = word;
    line->values[line->n_keys++] = equals + 1;
  }
}

void read_script(const char* directory, const char* file_name, script* s) {
  char path[4096];
  size_t size, room = 1;
  int number = 0;
  *s = (script){.text = NULL};
  snprintf(path, sizeof path, "%s/%s", directory, file_name);
  if (strlen(file_name) >= sizeof s->name) die(NULL, "%s: a name of more than %d letters", path, kMaxName - 1);
  memcpy(s->name, file_name, strlen(file_name) - strlen(".script"));
  s->text = read_file(path, &size);
  for (size_t k = 0; k < size; ++k) room += s->text[k] == '\n';
  s->lines = calloc(room, sizeof *s->lines);
  if (s->lines == NULL) die(NULL, "%s: no memory", path);
  for (char *begin = s->text, *end = begin; end != NULL && *begin != '\0'; begin = end + 1) {
    script_line* line = &s->lines[s->n_lines];
    end = strchr(begin, '\n');
    if (end != NULL) *end = '\0';
    ++number;
    if (*begin == '\0' || *begin == '#') continue;
    line->number = number;
    line->script = s->name;
    read_words(begin, line);
    if (line->call != NULL) ++s->n_lines;
  }
}

void free_script(script* s) {
  free(s->lines);
  free(s->text);
}

const char* value_of(const script_line* line, const char* key) {
  for (int k = 0; k < line->n_keys; ++k) {
    if (strcmp(line->keys[k], key) == 0) return line->values[k];
  }
  return NULL;
}

static double read_number(const script_line* line, const char* key, const char* text, char** end) {
  const double number = strtod(text, end);
  if (*end == text) die(line, "%s: '%s' is no number", key, text);
  return number;
}

static int64_t read_integer(const script_line* line, const char* key, const char* text, char** end) {
  const long long number = strtoll(text, end, 10);
  if (*end == text) die(line, "%s: '%s' is no integer", key, text);
  return number;
}

double number_of(const script_line* line, const char* key, double otherwise) {
  double list[kMaxList];
  const int n = numbers_of(line, key, list);
  if (n >= 0 && n != 1) die(line, "%s: expected one number", key);
  return n == 1 ? list[0] : otherwise;
}

int64_t integer_of(const script_line* line, const char* key, int64_t otherwise) {
  int64_t list[kMaxList];
  const int n = integers_of(line, key, list);
  if (n >= 0 && n != 1) die(line, "%s: expected one integer", key);
  return n == 1 ? list[0] : otherwise;
}

/* integers_of and numbers_of differ in the type of the list alone. */
#define READ_LIST(read)                                                      \
  const char* text = value_of(line, key);                                    \
  int n = 0;                                                                 \
  if (text == NULL) return -1;                                               \
  while (*text != '\0') {                                                    \
    char* end;                                                               \
    if (n == kMaxList) die(line, "%s: more than %d entries", key, kMaxList); \
    list[n++] = read(line, key, text, &end);                                 \
    if (*end != '\0' && *end != ',') die(line, "%s: '%s'?", key, end);       \
    text = end + (*end == ',');                                              \
  }                                                                          \
  return n

int integers_of(const script_line* line, const char* key, int64_t* list) { READ_LIST(read_integer); }

int numbers_of(const script_line* line, const char* key, double* list) { READ_LIST(read_number); }

int place_in(const char* words, const char* word) {
  const size_t length = strlen(word);
  for (int place = 0;; ++place) {
    if (strncmp(words, word, length) == 0 && (words[length] == ',' || words[length] == '\0')) return place;
    words = strchr(words, ',');
    if (words == NULL) return -1;
    ++words;
  }
}

uint64_t hash_bytes(uint64_t hash, const void* data, size_t size) {
  const unsigned char* bytes = data;
  for (size_t k = 0; k < size; ++k) hash = (hash ^ bytes[k]) * 0x100000001B3U;
  return hash;
}

size_t size_of_type(enum data_type type) {
  static const size_t sizes[] = {4, 8, 2, 2};
  return sizes[type];
}

static uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27) * 0x94D049BB133111EBU;
  return x ^ x >> 31;
}

static void store(float value, enum data_type type, unsigned char* to) {
  const double wide = (double)value;
  uint32_t bits;
  uint16_t half;
  memcpy(&bits, &value, sizeof bits);
  half = type == kBf16 ? (uint16_t)(bits >> 16)
                       : (uint16_t)((bits >> 16 & 0x8000U) | (((bits >> 13) - 0x1C000U) & 0x7FFFU));
  if (value == 0) half = 0;
  if (type == kF64) memcpy(to, &wide, sizeof wide);
  if (type == kF32) memcpy(to, &value, sizeof value);
  if (type == kF16 || type == kBf16) memcpy(to, &half, sizeof half);
}

void generate(enum data_kind kind, uint64_t call, uint64_t rank, uint64_t parameter, enum data_type type, size_t n,
              void* to) {
  const uint64_t tensor = mix(mix(mix(mix(kind) ^ call) ^ rank) ^ parameter);
  const int bits = type == kF16 || type == kBf16 ? 8 : 24; /* of the number, sign included: exact in its dtype */
  const int64_t half_range = (int64_t)1 << (bits - 1);
  for (size_t k = 0; k < n; ++k) {
    const uint64_t word = mix(tensor ^ k);
    const int64_t numerator = (int64_t)(word >> (64 - bits)) - half_range;
    store((float)numerator / (float)(half_range << (word & 7)), type, (unsigned char*)to + k * size_of_type(type));
  }
}
