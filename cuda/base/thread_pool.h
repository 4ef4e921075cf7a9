// thread_pool.h: the threads of one model. The caller of parallel() is worker 0; the others sleep between steps.
//
// Tasks are claimed one at a time from a counter, so a thread that the system takes off its core delays at most the task
// that it holds. Which worker runs which task is unknown: a task's result must not depend on it.
#pragma once

#include <stdint.h>

namespace ignis {

struct ThreadPool;

// Runs with context, a task in [0, num_tasks) and a worker in [0, num_workers).
using TaskFunction = void (*)(const void *context, uint32_t task, uint32_t worker);

// Starts num_threads - 1 threads. Null when a thread cannot be made.
ThreadPool *thread_pool_start(uint32_t num_threads);
void thread_pool_stop(ThreadPool *pool);
uint32_t thread_pool_workers(const ThreadPool &pool);

// Returns when every task has run and its writes are visible to the caller. One caller at a time; never from inside a task.
void thread_pool_run(ThreadPool &pool, uint32_t num_tasks, TaskFunction function, const void *context);

// The same for a lambda (uint32_t task, uint32_t worker). Static, so that each translation unit has its own copy, compiled for its
// own instruction set.
template <class Function>
static inline void parallel(ThreadPool &pool, uint32_t num_tasks, const Function &function) {
  thread_pool_run(
      pool, num_tasks,
      [](const void *context, uint32_t task, uint32_t worker) { (*static_cast<const Function *>(context))(task, worker); },
      &function);
}

}  // namespace ignis
