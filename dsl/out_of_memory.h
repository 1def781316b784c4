// dsl/out_of_memory.h -- std::bad_alloc as exported functions report it.
#pragma once

#include <new>

#include <kiln/detail/bridge.h>

namespace kiln::dsl {

/// Throws OutOfMemory: "there is no host memory left to scatter (file.cpp:12); ...". For the function-try-blocks of
/// what the public headers call. Takes no memory but the message's, without which the message is a shorter one.
[[noreturn]] void fail_without_memory(const char* task, detail::Where where = {});

}  // namespace kiln::dsl
