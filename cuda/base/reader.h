// reader.h: threads that fill buffers from files, in order, ahead of who empties them. Knows no device.
//
//   job      0  1  2  3  4  5  6 ...      job j goes to buffer j % num_buffers
//            released | in a buffer, or being read | waits for a buffer
#pragma once

#include <stdint.h>

#include "../include/ignis_step.h"

namespace ignis {

// One buffer's worth of bytes: of an open file, or, where descriptor is -1, of memory. Neither (memory null): the buffer is left as it is.
struct ReadJob {
  int32_t descriptor;
  uint64_t offset;        // in the file
  const uint8_t *memory;  // looked at where descriptor is -1
  uint64_t size_bytes;
};

// Reads one job in the caller's thread. 0, or the errno of what went wrong; ENODATA where the file ends before the job.
int read_now(const ReadJob &job, uint8_t *buffer);
// What to say of such an errno: always IGNIS_INVALID.
ignis_status reading_failed(int error);

struct Reader;

// Starts the threads. `jobs` and `buffers` are the caller's until reader_stop. Null when a thread cannot be made.
Reader *reader_start(const ReadJob *jobs, uint64_t num_jobs, uint8_t *const *buffers, uint32_t num_buffers, uint32_t num_threads);
// Waits until job `index` is in its buffer, and returns what read_now would; one thread alone may wait.
int reader_wait(Reader &reader, uint64_t index);
// Buffers of all jobs below `stop` may be filled again. `stop` never falls.
void reader_release(Reader &reader, uint64_t stop);
// Ends the threads; each ends the read that it is in. Null is fine.
void reader_stop(Reader *reader);

}  // namespace ignis
