// tests/unit/runtime/background_test.cpp -- work in the background and the end of the process.
#include "runtime/background.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/exit_order.h"

namespace kiln::runtime {
namespace {

int output = -1;  ///< of a child

void say(const char* word) {
  const std::string text = word;
  [[maybe_unused]] const ssize_t written = ::write(output, text.data(), text.size());
}

/// What a child writes whose `body` ends it.
template <class Body>
std::string words_of_a_child(Body body) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    output = ends[1];
    ::alarm(30);
    body();
    ::_exit(1);
  }
  ::close(ends[1]);
  std::string words;
  char buffer[64];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    words.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return words;
}

// Rule: a running job ends before what it uses is torn down.
TEST(Background, AJobEndsBeforeTheHandlersOfWhatWasThere) {
  EXPECT_EQ(words_of_a_child([] {
              std::atexit([] { say(" handler"); });
              run_in_background([] {
                say("begun");
                ::usleep(300'000);
                say(" finished");
              });
              ::usleep(100'000);
              std::exit(0);
            }),
            "begun finished handler");
}

// Rule: jobs that have not begun at exit are forgotten.
TEST(Background, WaitingJobsAreForgottenAtExit) {
  EXPECT_EQ(words_of_a_child([] {
              run_in_background([] { ::usleep(200'000); });
              run_in_background([] { say("never"); });
              ::usleep(50'000);
              std::exit(0);
            }),
            "");
}

// Rule: results that wait to be written are written by the thread that ends the process, behind whatever job they wait,
// and those that come later at once.
TEST(Background, JobsToBeFinishedAreDoneAtExit) {
  EXPECT_EQ(words_of_a_child([] {
              run_in_background([] { ::usleep(100'000); });
              run_in_background([] { say("never"); });
              run_in_background([] { say("written"); }, AtExit::finish);
              std::atexit([] { run_in_background([] { say("never"); }); });
              std::atexit([] { run_in_background([] { say(" first,"); }, AtExit::finish); });
              ::usleep(20'000);
              put_exit_handler_last();
              std::exit(0);
            }),
            "written first,");
  EXPECT_EQ(words_of_a_child([] {
              run_in_background([] { ::sleep(20); });
              run_in_background([] { say("written"); }, AtExit::finish);
              std::quick_exit(0);
            }),
            "written");
}

// Rule: nor under it where another thread than any that used kiln ends the process, and not what an earlier job loaded.
TEST(Background, WhatAnEarlierJobLoadedIsNotTornDownUnderALaterOne) {
  EXPECT_EQ(words_of_a_child([] {
              std::thread([] {
                run_in_background([] { std::atexit([] { say(" handler"); }); });
                run_in_background([] {
                  ::usleep(200'000);
                  say("end");
                });
              }).join();
              ::usleep(100'000);
              std::thread([] { std::exit(0); }).join();
            }),
            "end handler");
}

// Rule: who waits for the queue works it off, for its own thread gets no time on a busy machine; still one by one.
TEST(Background, WhoWaitsDoesTheJobs) {
  EXPECT_EQ(words_of_a_child([] {
              static pid_t waiting = 0;
              static std::atomic<bool> begun = false;
              waiting = ::gettid();
              run_in_background([] {
                begun = true;
                ::usleep(300'000);
                say(::gettid() == waiting ? "here" : "there");
              });
              while (!begun) ::usleep(1'000);
              for (int job = 0; job < 3; ++job)
                run_in_background([] { say(::gettid() == waiting ? " here" : " there"); });
              wait_for_background();
              ::_exit(0);
            }),
            "there here here here");
}

// Rule: several threads may wait, and each of them until all is done.
TEST(Background, SeveralThreadsWait) {
  EXPECT_EQ(words_of_a_child([] {
              static std::atomic<int> done = 0;
              for (int job = 0; job < 50; ++job)
                run_in_background([] {
                  ::usleep(2'000);
                  ++done;
                });
              std::vector<std::thread> threads;
              for (int thread = 0; thread < 4; ++thread)
                threads.emplace_back([] {
                  wait_for_background();
                  if (done != 50) say("early");
                });
              for (std::thread& thread : threads) thread.join();
              ::_exit(0);
            }),
            "");
}

}  // namespace
}  // namespace kiln::runtime
