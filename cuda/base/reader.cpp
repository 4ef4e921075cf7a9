#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "status.h"

namespace ignis {

static constexpr int32_t UNREAD = -1;

struct Reader {
  pthread_mutex_t mutex;
  // Apart, so that a job that is done wakes its taker alone, and a buffer that is free one thread alone.
  pthread_cond_t is_read, has_room;
  const ReadJob *jobs;
  uint64_t num_jobs;
  uint8_t *const *buffers;
  uint32_t num_buffers;
  // Under the mutex.
  uint64_t next;       // the job that a thread takes next
  uint64_t released;   // jobs below it have left their buffers
  int32_t *results;    // [num_jobs] UNREAD, 0 or an errno
  bool is_stopping;
  uint32_t num_threads;
  pthread_t *threads;  // [num_threads]
};

// Has the system begin to read a file's part, all of it at once: a plain read asks a disk for so little at a time that it idles.
static void advise(const Reader &reader, uint64_t index) {
  if (index >= reader.num_jobs) return;
  const ReadJob &job = reader.jobs[index];
  if (job.descriptor >= 0)
    posix_fadvise(job.descriptor, static_cast<off_t>(job.offset), static_cast<off_t>(job.size_bytes), POSIX_FADV_WILLNEED);
}

int read_now(const ReadJob &job, uint8_t *buffer) {
  if (job.descriptor < 0) {
    if (job.memory) memcpy(buffer, job.memory, job.size_bytes);
    return 0;
  }
  for (uint64_t done = 0; done < job.size_bytes;) {
    const ssize_t num = pread(job.descriptor, buffer + done, job.size_bytes - done, static_cast<off_t>(job.offset + done));
    if (num == 0) return ENODATA;
    if (num < 0 && errno != EINTR) return errno;
    if (num > 0) done += static_cast<uint64_t>(num);
  }
  return 0;
}

ignis_status reading_failed(int error) {
  if (error == ENODATA) return fail(IGNIS_INVALID, "a file of the model ends before its last tensor: it changed while it was read");
  return fail(IGNIS_INVALID, "a file of the model cannot be read: %s", strerror(error));
}

static void *run(void *argument) {
  Reader &reader = *static_cast<Reader *>(argument);
  pthread_mutex_lock(&reader.mutex);
  for (;;) {
    while (!reader.is_stopping && reader.next < reader.num_jobs && reader.next >= reader.released + reader.num_buffers)
      pthread_cond_wait(&reader.has_room, &reader.mutex);
    if (reader.is_stopping || reader.next >= reader.num_jobs) break;
    const uint64_t index = reader.next++;
    pthread_mutex_unlock(&reader.mutex);
    advise(reader, index + reader.num_buffers);
    const int32_t result = read_now(reader.jobs[index], reader.buffers[index % reader.num_buffers]);
    pthread_mutex_lock(&reader.mutex);
    reader.results[index] = result;
    pthread_cond_signal(&reader.is_read);
  }
  pthread_mutex_unlock(&reader.mutex);
  return nullptr;
}

Reader *reader_start(const ReadJob *jobs, uint64_t num_jobs, uint8_t *const *buffers, uint32_t num_buffers, uint32_t num_threads) {
  Reader *reader = static_cast<Reader *>(calloc(1, sizeof(Reader)));
  if (!reader) return nullptr;
  pthread_mutex_init(&reader->mutex, nullptr);
  pthread_cond_init(&reader->is_read, nullptr);
  pthread_cond_init(&reader->has_room, nullptr);
  reader->jobs = jobs;
  reader->num_jobs = num_jobs;
  reader->buffers = buffers;
  reader->num_buffers = num_buffers;
  reader->results = static_cast<int32_t *>(malloc((num_jobs + 1) * sizeof(int32_t)));
  reader->threads = static_cast<pthread_t *>(calloc(num_threads, sizeof(pthread_t)));
  bool is_started = reader->results && reader->threads;
  for (uint64_t i = 0; is_started && i < num_jobs; i++) reader->results[i] = UNREAD;
  for (uint32_t i = 0; is_started && i < num_buffers; i++) advise(*reader, i);
  // Signals are the caller's threads' to take.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (is_started && reader->num_threads < num_threads) {
    is_started = pthread_create(&reader->threads[reader->num_threads], nullptr, run, reader) == 0;
    reader->num_threads += is_started;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_started) return reader;
  reader_stop(reader);
  return nullptr;
}

int reader_wait(Reader &reader, uint64_t index) {
  pthread_mutex_lock(&reader.mutex);
  while (reader.results[index] == UNREAD) pthread_cond_wait(&reader.is_read, &reader.mutex);
  const int32_t result = reader.results[index];
  pthread_mutex_unlock(&reader.mutex);
  return result;
}

void reader_release(Reader &reader, uint64_t stop) {
  pthread_mutex_lock(&reader.mutex);
  for (; reader.released < stop; reader.released++) pthread_cond_signal(&reader.has_room);
  pthread_mutex_unlock(&reader.mutex);
}

void reader_stop(Reader *reader) {
  if (!reader) return;
  pthread_mutex_lock(&reader->mutex);
  reader->is_stopping = true;
  pthread_cond_broadcast(&reader->has_room);
  pthread_mutex_unlock(&reader->mutex);
  for (uint32_t i = 0; i < reader->num_threads; i++) pthread_join(reader->threads[i], nullptr);
  pthread_cond_destroy(&reader->is_read);
  pthread_cond_destroy(&reader->has_room);
  pthread_mutex_destroy(&reader->mutex);
  free(reader->results);
  free(reader->threads);
  free(reader);
}

}  // namespace ignis
