// One MPI behind the table of calls.h. It is not linked with MPI: the library that loads this has
// made the symbols of libmpi known before.

#include <mpi.h>
#include <string.h>

#include "syrtos/world/mpi/calls.h"

typedef char handles_are_wide_enough[sizeof(MPI_Request) <= sizeof(SyrtosMpiHandle) &&
                                             sizeof(MPI_Comm) <= sizeof(SyrtosMpiHandle)
                                         ? 1
                                         : -1];

static MPI_Comm comm_of(SyrtosMpiHandle handle) {
  MPI_Comm comm;
  memcpy(&comm, &handle, sizeof(comm));
  return comm;
}

static SyrtosMpiHandle of_comm(MPI_Comm comm) {
  SyrtosMpiHandle handle = 0;
  if (comm != MPI_COMM_NULL) memcpy(&handle, &comm, sizeof(comm));
  return handle;
}

static MPI_Request request_of(SyrtosMpiHandle handle) {
  MPI_Request request;
  if (handle == 0) return MPI_REQUEST_NULL;
  memcpy(&request, &handle, sizeof(request));
  return request;
}

static SyrtosMpiHandle of_request(MPI_Request request) {
  SyrtosMpiHandle handle = 0;
  if (request != MPI_REQUEST_NULL) memcpy(&handle, &request, sizeof(request));
  return handle;
}

static void copy_text(char* to, int capacity, const char* text) {
  if (capacity <= 0) return;
  strncpy(to, text, (size_t)capacity - 1);
  to[capacity - 1] = '\0';
}

static int begin(SyrtosMpiHandle* all, int* threads_allowed) {
  int provided = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
  if (code != MPI_SUCCESS) return code;
  *threads_allowed = provided >= MPI_THREAD_SERIALIZED;
  code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  *all = of_comm(comm);
  return MPI_SUCCESS;
}

static void end(void) { MPI_Finalize(); }

static void abort_job(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

static void error_text(int code, char* text, int capacity) {
  char buffer[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_Error_string(code, buffer, &length);
  copy_text(text, capacity, buffer);
}

static int host_name(char* text, int capacity) {
  char buffer[MPI_MAX_PROCESSOR_NAME + 1] = "";
  int length = 0;
  const int code = MPI_Get_processor_name(buffer, &length);
  copy_text(text, capacity, buffer);
  return code;
}

static int split(SyrtosMpiHandle comm, int member, int key, SyrtosMpiHandle* part) {
  MPI_Comm result = MPI_COMM_NULL;
  const int code = MPI_Comm_split(comm_of(comm), member ? 0 : MPI_UNDEFINED, key, &result);
  if (code == MPI_SUCCESS && result != MPI_COMM_NULL) {
    MPI_Comm_set_errhandler(result, MPI_ERRORS_RETURN);
  }
  *part = of_comm(result);
  return code;
}

static void free_communicator(SyrtosMpiHandle handle) {
  MPI_Comm comm = comm_of(handle);
  MPI_Comm_free(&comm);
}

static int rank_of(SyrtosMpiHandle comm) {
  int rank = 0;
  MPI_Comm_rank(comm_of(comm), &rank);
  return rank;
}

static int size_of(SyrtosMpiHandle comm) {
  int size = 0;
  MPI_Comm_size(comm_of(comm), &size);
  return size;
}

static int highest_tag(SyrtosMpiHandle comm) {
  const int least = 32767;  // that every MPI has
  void* highest = NULL;
  int found = 0;
  MPI_Comm_get_attr(comm_of(comm), MPI_TAG_UB, &highest, &found);
  return found ? *(int*)highest : least;
}

static int all_gather_int(SyrtosMpiHandle comm, int value, int* all) {
  return MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm_of(comm));
}

static int all_gather_text(SyrtosMpiHandle comm, const char* text, int length, char* all,
                           const int* lengths, const int* offsets) {
  return MPI_Allgatherv(text, length, MPI_CHAR, all, lengths, offsets, MPI_CHAR, comm_of(comm));
}

static int start_send(SyrtosMpiHandle comm, const void* data, int bytes, int to, int tag,
                      SyrtosMpiHandle* handle) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Isend(data, bytes, MPI_BYTE, to, tag, comm_of(comm), &request);
  *handle = of_request(request);
  return code;
}

static int start_recv(SyrtosMpiHandle comm, void* data, int bytes, int from, int tag,
                      SyrtosMpiHandle* handle) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Irecv(data, bytes, MPI_BYTE, from < 0 ? MPI_ANY_SOURCE : from, tag,
                             comm_of(comm), &request);
  *handle = of_request(request);
  return code;
}

static int start_all_reduce(SyrtosMpiHandle comm, void* values, int count, int element,
                            int reduction, SyrtosMpiHandle* handle) {
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Datatype type = element == SYRTOS_MPI_F32   ? MPI_FLOAT
                            : element == SYRTOS_MPI_F64 ? MPI_DOUBLE
                                                        : MPI_INT64_T;
  const MPI_Op operation = reduction == SYRTOS_MPI_SUM   ? MPI_SUM
                           : reduction == SYRTOS_MPI_MIN ? MPI_MIN
                                                         : MPI_MAX;
  const int code =
      MPI_Iallreduce(MPI_IN_PLACE, values, count, type, operation, comm_of(comm), &request);
  *handle = of_request(request);
  return code;
}

static int test(SyrtosMpiHandle* handle, int* done, int* from, int* bytes) {
  MPI_Request request = request_of(*handle);
  MPI_Status status;
  const int code = MPI_Test(&request, done, &status);
  *handle = of_request(request);
  if (code != MPI_SUCCESS || !*done) return code;
  *from = status.MPI_SOURCE;
  return MPI_Get_count(&status, MPI_BYTE, bytes);
}

static int test_some(int count, SyrtosMpiHandle* handles, int* ended, int* indices) {
  // Requests may be narrower than handles, so that a few at a time are copied.
  enum { kAtOnce = 64 };
  MPI_Request some[kAtOnce];
  int first, code = MPI_SUCCESS;
  *ended = 0;
  for (first = 0; first < count && code == MPI_SUCCESS; first += kAtOnce) {
    const int now = count - first < kAtOnce ? count - first : kAtOnce;
    int i, found = 0;
    for (i = 0; i < now; ++i) some[i] = request_of(handles[first + i]);
    code = MPI_Testsome(now, some, &found, indices + *ended, MPI_STATUSES_IGNORE);
    if (found == MPI_UNDEFINED) found = 0;
    for (i = *ended; i < *ended + found; ++i) {
      indices[i] += first;
      handles[indices[i]] = 0;
    }
    *ended += found;
  }
  return code;
}

static int cancel(SyrtosMpiHandle* handle, int* cancelled) {
  MPI_Request request = request_of(*handle);
  MPI_Status status;
  int code = MPI_Cancel(&request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, &status);
  *handle = of_request(request);
  return code == MPI_SUCCESS ? MPI_Test_cancelled(&status, cancelled) : code;
}

const SyrtosMpiCalls* syrtos_mpi_calls(void) {
  static const SyrtosMpiCalls calls = {.version = SYRTOS_MPI_CALLS_VERSION,
                                       .begin = begin,
                                       .end = end,
                                       .abort_job = abort_job,
                                       .error_text = error_text,
                                       .host_name = host_name,
                                       .split = split,
                                       .free_communicator = free_communicator,
                                       .rank = rank_of,
                                       .size = size_of,
                                       .highest_tag = highest_tag,
                                       .all_gather_int = all_gather_int,
                                       .all_gather_text = all_gather_text,
                                       .start_send = start_send,
                                       .start_recv = start_recv,
                                       .start_all_reduce = start_all_reduce,
                                       .test = test,
                                       .test_some = test_some,
                                       .cancel = cancel};
  return &calls;
}
