// runtime/background.cpp -- the queue, its thread, and what becomes of them at exit and in forked children.
#include "runtime/background.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <utility>

#include "runtime/detached_thread.h"
#include "runtime/exit_order.h"
#include "support/fork_safe.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t most_jobs = 512;

struct Job {
  std::function<void()> run;
  AtExit at_exit = AtExit::forget;
};

struct Queue {
  std::mutex mutex;
  std::condition_variable idle;
  std::deque<Job> jobs;
  bool running = false, stopping = false;
  int waiting = 0;  ///< threads in wait_for_background
};

/// Never destroyed. A forked child begins with another, for its copy may have been changing.
constinit std::atomic<Queue*> current{nullptr};
constinit FirstUses first_jobs;

const InForkedChild leave_to_parent([] { current.store(nullptr); });

/// For the end of the process: empties the queue, and does the jobs that are to be finished.
void forget_jobs() {
  Queue* const q = current.load(std::memory_order_acquire);
  if (!q) return;
  std::deque<Job> jobs;
  {
    const std::lock_guard lock(q->mutex);
    q->stopping = true;
    jobs.swap(q->jobs);
  }
  for (const Job& job : jobs)
    if (job.at_exit == AtExit::finish) job.run();
}

Queue& queue() {
  if (Queue* const ready = current.load(std::memory_order_acquire)) return *ready;
  auto* const made = new Queue;
  Queue* other = nullptr;
  if (!current.compare_exchange_strong(other, made)) {
    delete made;
    return *other;
  }
  set_exit_action(forget_jobs);
  put_exit_handler_last();
  std::at_quick_exit(forget_jobs);
  return *made;
}

/// The jobs in their order, while `goes_on`. The lock is held between them.
template <class Condition>
void run_jobs(Queue& q, std::unique_lock<std::mutex>& lock, Condition goes_on) {
  while (!q.jobs.empty() && goes_on()) {
    {
      const HoldsExit hold{HoldsExit::UnlessTooLate()};
      if (!hold.holds()) break;  // the thread that ends the process sees to the rest
      const Job job = std::move(q.jobs.front());
      q.jobs.pop_front();
      lock.unlock();
      job.run();
      if (first_jobs.is_first()) put_exit_handler_last();  // the driver may have loaded parts of itself
    }
    lock.lock();
  }
  q.running = false;
  q.idle.notify_all();
}

void work() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);  // Linux: of this thread
  pthread_setname_np(pthread_self(), "kiln-tune");
  Queue& q = queue();
  std::unique_lock lock(q.mutex);
  run_jobs(q, lock, [&q] { return q.waiting == 0; });
}

}  // namespace

bool run_in_background(std::function<void()> job, AtExit at_exit) {
  Queue& q = queue();
  {
    const std::lock_guard lock(q.mutex);
    if (!q.stopping && q.jobs.size() < most_jobs) {
      q.jobs.push_back({std::move(job), at_exit});
      if (!q.running) q.running = start_detached(work);
      if (q.running) return true;
      job = std::move(q.jobs.back().run);
      q.jobs.pop_back();
    }
  }
  if (at_exit == AtExit::finish) job();
  return false;
}

void wait_for_background() {
  Queue& q = queue();
  std::unique_lock lock(q.mutex);
  // On a busy machine the queue's thread, of the lowest priority, gets next to nothing: it hands over to who waits.
  ++q.waiting;
  q.idle.wait(lock, [&] { return !q.running; });
  --q.waiting;
  if (q.jobs.empty()) return;
  q.running = true;
  run_jobs(q, lock, [] { return true; });
}

}  // namespace kiln::runtime
