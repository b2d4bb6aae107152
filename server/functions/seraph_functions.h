/* Functions of your own that run at Seraph's servers: docs/functions.md.
 *
 * A shared library that `server.functions` names exports seraph_functions().
 * This header is C and needs nothing else of Seraph, so that a library built
 * with another compiler works. What its structs look like has the number
 * SERAPH_FUNCTIONS_ABI; a server takes only libraries of its own number.
 *
 * Threads: a server runs a function for several partitions at a time.
 */
#ifndef SERAPH_SERVER_FUNCTIONS_SERAPH_FUNCTIONS_H_
#define SERAPH_SERVER_FUNCTIONS_SERAPH_FUNCTIONS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SERAPH_FUNCTIONS_ABI 1

/* Types of arguments and results. */
enum {
  SERAPH_INT = 0,
  SERAPH_DOUBLE = 1,
  SERAPH_TEXT = 2,
  SERAPH_KEYS = 3,
  SERAPH_FLOATS = 4
};

/* How the results of a table's partitions become one. */
enum {
  /* The values of each, one partition after the other. */
  SERAPH_LIST = 0,
  /* The function runs once for each block of rows that there are, and gives one
   * double, the block's part of a sum. Blocks are parts of the table that do
   * not depend on partitions, so neither does the sum, to the last bit. */
  SERAPH_SUM = 1,
  /* One int for each partition; they are added. */
  SERAPH_COUNT = 2
};

typedef struct seraph_value {
  uint32_t type;
  int64_t integer;      /* SERAPH_INT */
  double real;          /* SERAPH_DOUBLE */
  const char* text;     /* SERAPH_TEXT: [size] bytes, and a 0 behind them. */
  const uint64_t* keys; /* SERAPH_KEYS: [size] */
  const float* floats;  /* SERAPH_FLOATS: [size] */
  size_t size;
} seraph_value;

/* Rows: valid until the next call of next_rows. */
typedef struct seraph_rows {
  size_t count;
  const uint64_t* keys; /* [count] as users know them. */
  const float* values;  /* [count * width], row after row. */
} seraph_rows;

/* What the server offers to a call, for as long as it runs. */
typedef struct seraph_call {
  void* host; /* The first argument of the functions below. */
  const char* table;
  uint32_t width;  /* Of the table's rows. */
  uint32_t column; /* That the caller asks about. */
  const seraph_value* arguments;
  size_t argument_count;

  /* Gets the next rows of the partition (with SERAPH_SUM: of the block), in an
   * order that is always the same. Returns 0 when there are none left. */
  int (*next_rows)(void* host, seraph_rows* rows);
  /* Functions that write: sets a row, [width] values, existing or not; the last
   * value wins. Takes effect when the function has returned 0. */
  void (*set_row)(void* host, uint64_t key, const float* values);
  /* Functions that read: adds a result. */
  void (*add_result)(void* host, const seraph_value* value);
  /* Says what is wrong, for the caller; a C string. The function then returns
   * something else than 0. */
  void (*set_error)(void* host, const char* message);
} seraph_call;

typedef struct seraph_argument {
  const char* name; /* [a-z][a-z0-9_]* */
  uint32_t type;
  uint32_t optional; /* 1: it, and all behind it, may be left out. */
} seraph_argument;

typedef struct seraph_function {
  const char* name; /* [a-z][a-z0-9_]*, at most 64 characters. */
  uint32_t version; /* From 1. Raise it when it computes something else. */
  uint32_t writes;  /* 1: it sets rows and has no result. */
  uint32_t combine; /* Of one that reads. */
  const seraph_argument* arguments;
  size_t argument_count;
  /* 0: it is done. Everything else, and an exception, is an error for the
   * caller: nothing was changed. */
  int (*run)(const seraph_call* call);
} seraph_function;

typedef struct seraph_library {
  uint32_t abi; /* SERAPH_FUNCTIONS_ABI. First, whatever the version. */
  const seraph_function* functions;
  size_t function_count;
} seraph_library;

/* To be defined by the library. What it returns stays valid. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const seraph_library*
seraph_functions(void);

#ifdef __cplusplus
}
#endif

#endif /* SERAPH_SERVER_FUNCTIONS_SERAPH_FUNCTIONS_H_ */
