// runtime/background.cpp -- the queue, its thread, and what becomes of them at exit and in forked children.
#include "runtime/background.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "runtime/detached_thread.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t most_jobs = 512;
constexpr auto patience = std::chrono::seconds(20);  // at exit: for one compile

struct Queue {
  std::mutex mutex;
  std::condition_variable idle;
  std::deque<std::function<void()>> jobs;
  bool running = false, stopping = false, followed_compilers = false;
};

/// Replaced in a forked child, whose copy may have been changing; never destroyed.
Queue* current = nullptr;

void stop() {
  if (!current) return;
  std::deque<std::function<void()>> forgotten;
  std::unique_lock lock(current->mutex);
  current->stopping = true;
  forgotten.swap(current->jobs);
  current->idle.wait_for(lock, patience, [] { return !current->running; });
}

/// Objects of the main thread are destroyed before any handler of std::atexit runs, those of a compiler that the
/// running job has just loaded among them. (Where another thread calls std::exit, the handlers below are all there is.)
struct EndOfMainThread {
  EndOfMainThread() = default;
  EndOfMainThread(const EndOfMainThread&) = delete;
  EndOfMainThread& operator=(const EndOfMainThread&) = delete;
  ~EndOfMainThread() {
    if (::gettid() == ::getpid()) stop();
  }
  void touch() {}  ///< its first use registers the destructor
};
thread_local EndOfMainThread end_of_main_thread;

Queue& queue() {
  end_of_main_thread.touch();
  [[maybe_unused]] static const bool made = [] {
    current = new Queue;
    pthread_atfork([] { current->mutex.lock(); }, [] { current->mutex.unlock(); }, [] { current = new Queue; });
    std::atexit(stop);
    return true;
  }();
  return *current;
}

void work() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);  // Linux: of this thread
  pthread_setname_np(pthread_self(), "kiln-tune");
  Queue& q = *current;
  std::unique_lock lock(q.mutex);
  while (!q.jobs.empty()) {
    {
      const std::function<void()> job = std::move(q.jobs.front());
      q.jobs.pop_front();
      lock.unlock();
      job();
    }
    lock.lock();
    if (q.followed_compilers) continue;
    // Handlers run in the reverse order: this one before those of the compiler that the job has loaded.
    q.followed_compilers = true;
    std::atexit(stop);
  }
  q.running = false;
  q.idle.notify_all();
}

}  // namespace

bool run_in_background(std::function<void()> job) {
  Queue& q = queue();
  const std::lock_guard lock(q.mutex);
  if (q.stopping || q.jobs.size() >= most_jobs) return false;
  q.jobs.push_back(std::move(job));
  if (q.running) return true;
  q.running = start_detached(work);
  if (!q.running) q.jobs.pop_back();
  return q.running;
}

void wait_for_background() {
  Queue& q = queue();
  std::unique_lock lock(q.mutex);
  q.idle.wait(lock, [&] { return !q.running; });
}

}  // namespace kiln::runtime
