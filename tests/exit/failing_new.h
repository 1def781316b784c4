// tests/exit/failing_new.h -- part of no_memory.cpp with an operator new that fails.
#pragma once

/// How many calls ended otherwise than by kl::OutOfMemory.
int check_failing_new();
