#include "thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ignis {

// How long a thread looks for work before it sleeps. Longer than the serial stretches between two operators of a step, shorter than
// anything that a server does between two steps: an event loop shares these cores.
static constexpr uint64_t SPIN_NS = 30'000;

// The counters that threads fight over lie in cache lines of their own.
struct alignas(64) ThreadPool {
  // What runs now. Written by the caller while tickets <= 0, so that a worker that holds a ticket reads a settled value.
  TaskFunction function;
  const void *context;

  // Unclaimed tasks: a claim takes one; the value before it is the task's number plus one, and <= 0 means none was left.
  // Late claims push it below zero; the next run overwrites it.
  alignas(64) int32_t tickets;
  alignas(64) uint32_t unfinished;  // tasks that have not returned; the caller sleeps on it
  uint32_t caller_sleeps;
  alignas(64) uint32_t run_number;  // changes with each run and at the end; workers sleep on it
  uint32_t num_sleeping;
  uint32_t is_stopping;
  alignas(64) uint32_t num_workers;
  uint32_t num_started;
  pthread_t *threads;
};

struct WorkerStart {
  ThreadPool *pool;
  uint32_t worker;
};

static void futex_wait(const uint32_t *word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

static void futex_wake_all(const uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, nullptr, nullptr, 0); }

static uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

// True as soon as *word differs from `value`, false when SPIN_NS have passed.
static bool spin_while(const uint32_t *word, uint32_t value) {
  const uint64_t start = now_ns();
  do {
    for (int turn = 0; turn < 32; turn++) {
      if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) return true;
      __builtin_ia32_pause();
    }
  } while (now_ns() - start < SPIN_NS);
  return false;
}

static void work(ThreadPool *pool, uint32_t worker) {
  uint32_t num_done = 0;
  for (;;) {
    // Acquire: a ticket above zero was published after function and context.
    const int32_t ticket = __atomic_fetch_sub(&pool->tickets, 1, __ATOMIC_ACQUIRE);
    if (ticket <= 0) break;
    pool->function(pool->context, static_cast<uint32_t>(ticket - 1), worker);
    num_done++;
  }
  if (num_done == 0) return;
  if (__atomic_sub_fetch(&pool->unfinished, num_done, __ATOMIC_SEQ_CST) == 0 && worker != 0 &&
      __atomic_load_n(&pool->caller_sleeps, __ATOMIC_SEQ_CST))
    futex_wake_all(&pool->unfinished);
}

static void *worker_main(void *argument) {
  const WorkerStart start = *static_cast<WorkerStart *>(argument);
  free(argument);
  ThreadPool *pool = start.pool;
  pthread_setname_np(pthread_self(), "ignis-worker");
  uint32_t seen = 0;  // thread_pool_start leaves run_number at 0
  for (;;) {
    if (!spin_while(&pool->run_number, seen)) {
      __atomic_add_fetch(&pool->num_sleeping, 1, __ATOMIC_SEQ_CST);
      while (__atomic_load_n(&pool->run_number, __ATOMIC_SEQ_CST) == seen) futex_wait(&pool->run_number, seen);
      __atomic_sub_fetch(&pool->num_sleeping, 1, __ATOMIC_SEQ_CST);
    }
    seen = __atomic_load_n(&pool->run_number, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&pool->is_stopping, __ATOMIC_ACQUIRE)) return nullptr;
    work(pool, start.worker);
  }
}

ThreadPool *thread_pool_start(uint32_t num_threads) {
  ThreadPool *pool = static_cast<ThreadPool *>(aligned_alloc(alignof(ThreadPool), sizeof(ThreadPool)));
  if (!pool) return nullptr;
  *pool = ThreadPool{};
  pool->num_workers = num_threads < 1 ? 1 : num_threads;
  pool->threads = static_cast<pthread_t *>(calloc(pool->num_workers, sizeof(pthread_t)));
  if (!pool->threads) {
    free(pool);
    return nullptr;
  }
  // Signals are the caller's process's business: none is to be taken by a worker.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_started = true;
  for (uint32_t worker = 1; worker < pool->num_workers && is_started; worker++) {
    WorkerStart *start = static_cast<WorkerStart *>(malloc(sizeof(WorkerStart)));
    if (start) *start = WorkerStart{pool, worker};
    is_started = start && pthread_create(&pool->threads[pool->num_started], nullptr, worker_main, start) == 0;
    if (is_started)
      pool->num_started++;
    else
      free(start);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_started) return pool;
  thread_pool_stop(pool);
  return nullptr;
}

void thread_pool_stop(ThreadPool *pool) {
  if (!pool) return;
  __atomic_store_n(&pool->is_stopping, 1, __ATOMIC_RELEASE);
  __atomic_add_fetch(&pool->run_number, 1, __ATOMIC_SEQ_CST);
  futex_wake_all(&pool->run_number);
  for (uint32_t i = 0; i < pool->num_started; i++) pthread_join(pool->threads[i], nullptr);
  free(pool->threads);
  free(pool);
}

uint32_t thread_pool_workers(const ThreadPool &pool) { return pool.num_workers; }

void thread_pool_run(ThreadPool &pool, uint32_t num_tasks, TaskFunction function, const void *context) {
  if (num_tasks == 0) return;
  if (num_tasks == 1 || pool.num_workers == 1) {
    for (uint32_t task = 0; task < num_tasks; task++) function(context, task, 0);
    return;
  }
  pool.function = function;
  pool.context = context;
  __atomic_store_n(&pool.unfinished, num_tasks, __ATOMIC_RELAXED);
  __atomic_store_n(&pool.tickets, static_cast<int32_t>(num_tasks), __ATOMIC_RELEASE);
  __atomic_add_fetch(&pool.run_number, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pool.num_sleeping, __ATOMIC_SEQ_CST)) futex_wake_all(&pool.run_number);
  work(&pool, 0);
  for (;;) {
    const uint32_t left = __atomic_load_n(&pool.unfinished, __ATOMIC_ACQUIRE);
    if (left == 0) return;
    // A worker that lost its core holds a task: leave ours to whoever took its.
    if (spin_while(&pool.unfinished, left)) continue;
    __atomic_store_n(&pool.caller_sleeps, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool.unfinished, __ATOMIC_SEQ_CST) == left) futex_wait(&pool.unfinished, left);
    __atomic_store_n(&pool.caller_sleeps, 0, __ATOMIC_SEQ_CST);
  }
}

}  // namespace ignis
