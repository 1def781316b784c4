// runtime/detached_thread.h -- threads of the library's own.
#pragma once

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace kiln::runtime {

/// Starts `work` on a thread that nobody joins and that takes no signals: those of the host are none of its business.
/// False if no thread can be had.
template <class Work>
bool start_detached(Work work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace kiln::runtime
