// tests/unit/support/progress_test.cpp -- a bar on a terminal, one line elsewhere, silence for short work.
#include "support/progress.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/log.h"

namespace kiln {
namespace {

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(130)); }

/// What `body` writes to a terminal of 60 columns that is its stderr.
std::string on_terminal(const char* kind, const std::function<void()>& body) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 60;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    setenv("TERM", kind, 1);
    body();
    _exit(0);
  }
  std::string output;
  char part[4096];
  for (ssize_t n; (n = read(terminal, part, sizeof part)) > 0;) output.append(part, static_cast<std::size_t>(n));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return output;
}

std::string elsewhere(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

void long_work() {
  Progress progress("compiling softmax", "kernel", 6);
  for (int i = 0; i < 6; ++i) {
    pause();
    progress.advance("sm_90");
  }
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(Progress, ATerminalShowsABarThatGrowsAndGoes) {
  const std::string text = on_terminal("xterm", long_work);
  EXPECT_TRUE(contains(text, "kiln: compiling softmax [")) << text;
  EXPECT_TRUE(contains(text, "#.")) << text;
  EXPECT_TRUE(contains(text, " 5/6, 0.")) << text;
  EXPECT_TRUE(contains(text, ", sm_90")) << text;
  const std::size_t last_bar = text.rfind("softmax [");
  EXPECT_NE(text.find("\r\x1b[K", last_bar), std::string::npos) << "the bar is erased: " << text;
  EXPECT_TRUE(contains(text.substr(last_bar), "kiln: compiling softmax: 6 kernels in 0.")) << text;
  for (std::size_t from = 0, to; from < text.size(); from = to + 1) {
    to = std::min(text.find('\r', from), text.size());
    EXPECT_LE(to - from, 60u + 3) << "nothing wraps: " << text.substr(from, to - from);
  }
}

TEST(Progress, ElsewhereOneLineAtTheEnd) {
  const std::string text = elsewhere(long_work);
  EXPECT_TRUE(text.starts_with("kiln: compiling softmax: 6 kernels in 0.")) << text;
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
  EXPECT_TRUE(contains(on_terminal("dumb", long_work), "6 kernels in"));
  EXPECT_FALSE(contains(on_terminal("dumb", long_work), "["));
}

TEST(Progress, ShortWorkIsSilent) {
  const auto quick = [] {
    Progress progress("compiling softmax", "kernel", 100);
    for (int i = 0; i < 100; ++i) progress.advance();
  };
  const auto few = [] {
    Progress progress("compiling softmax", "kernel", 2);
    for (int i = 0; i < 2; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      progress.advance();
    }
  };
  EXPECT_EQ(elsewhere(quick), "");
  EXPECT_EQ(on_terminal("xterm", quick), "");
  EXPECT_EQ(elsewhere(few), "");
  EXPECT_EQ(on_terminal("xterm", few), "");
}

TEST(Progress, WorkThatFailsLeavesNoBarAndClaimsNothing) {
  const std::string text = on_terminal("xterm", [] {
    try {
      Progress progress("compiling softmax", "kernel", 9);
      for (int i = 0; i < 6; ++i) pause(), progress.advance();
      throw 1;
    } catch (int) {
    }
  });
  EXPECT_TRUE(contains(text, "[#")) << text;
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << text;
}

TEST(Progress, ManyThreadsAdvanceIt) {
  const std::string text = elsewhere([] {
    Progress progress("compiling", "kernel", 400);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) progress.advance();
      });
    for (std::thread& thread : threads) thread.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(510));
  });
  EXPECT_TRUE(contains(text, "400 kernels")) << text;
}

TEST(Progress, MessagesEraseTheBarFirst) {
  const std::string text = on_terminal("xterm", [] {
    Progress progress("compiling", "kernel", 9);
    for (int i = 0; i < 6; ++i) pause(), progress.advance();
    log_write(1, "a message");
  });
  EXPECT_TRUE(contains(text, "\r\x1b[Kkiln: a message")) << text;
}

TEST(Progress, AnEmbeddingProgramGetsTheLastLine) {
  std::vector<std::string> lines;
  set_log_sink(
      [](int level, std::string_view message, void* to) {
        EXPECT_EQ(level, 1);
        static_cast<std::vector<std::string>*>(to)->emplace_back(message);
      },
      &lines);
  EXPECT_EQ(elsewhere(long_work), "");
  set_log_sink(nullptr, nullptr);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("compiling softmax: 6 kernels in 0.")) << lines[0];
}

}  // namespace
}  // namespace kiln
