#pragma once

// What the program needs of MPI, as a table of C functions. The program itself is not linked with
// MPI: a plugin (plugin.c, compiled once against each MPI, whose binary interfaces differ) fills
// the table, and is loaded where that MPI is.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A communicator or a request of MPI; 0: none, also a request that has ended.
typedef uint64_t SyrtosMpiHandle;

enum { SYRTOS_MPI_CALLS_VERSION = 1 };  // of the table

enum SyrtosMpiElement { SYRTOS_MPI_F32, SYRTOS_MPI_F64, SYRTOS_MPI_I64 };
enum SyrtosMpiReduction { SYRTOS_MPI_SUM, SYRTOS_MPI_MIN, SYRTOS_MPI_MAX };

/// Calls that give an int give MPI's error code, 0 when all went well.
typedef struct SyrtosMpiCalls {
  int version;
  /// From MPI_Init to a communicator of all ranks of our own. `threads_allowed`: calls may come
  /// from any thread, one at a time.
  int (*begin)(SyrtosMpiHandle* all, int* threads_allowed);
  void (*end)(void);
  void (*abort_job)(int code);
  void (*error_text)(int code, char* text, int capacity);
  int (*host_name)(char* text, int capacity);

  int (*split)(SyrtosMpiHandle comm, int member, int key, SyrtosMpiHandle* part);
  void (*free_communicator)(SyrtosMpiHandle comm);
  int (*rank)(SyrtosMpiHandle comm);
  int (*size)(SyrtosMpiHandle comm);
  int (*highest_tag)(SyrtosMpiHandle comm);
  int (*all_gather_int)(SyrtosMpiHandle comm, int value, int* all);
  int (*all_gather_text)(SyrtosMpiHandle comm, const char* text, int length, char* all,
                         const int* lengths, const int* offsets);

  int (*start_send)(SyrtosMpiHandle comm, const void* data, int bytes, int to, int tag,
                    SyrtosMpiHandle* request);
  /// `from` below 0: from anybody.
  int (*start_recv)(SyrtosMpiHandle comm, void* data, int bytes, int from, int tag,
                    SyrtosMpiHandle* request);
  int (*start_all_reduce)(SyrtosMpiHandle comm, void* values, int count, int element, int reduction,
                          SyrtosMpiHandle* request);
  /// Of a reception; `from` and `bytes` are set when it is done.
  int (*test)(SyrtosMpiHandle* request, int* done, int* from, int* bytes);
  /// Which of them have ended; none of them may be 0.
  int (*test_some)(int count, SyrtosMpiHandle* requests, int* ended, int* indices);
  /// Waits until it has ended, or was taken back before it began.
  int (*cancel)(SyrtosMpiHandle* request, int* cancelled);
} SyrtosMpiCalls;

/// The one symbol of a plugin.
const SyrtosMpiCalls* syrtos_mpi_calls(void);
#define SYRTOS_MPI_CALLS_SYMBOL "syrtos_mpi_calls"

#ifdef __cplusplus
}
#endif
