// tools/kiln/text.h -- numbers, times and tables for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::command {

/// "1.5 MiB"
std::string size_text(std::uint64_t bytes);
/// "3 minutes ago"; "unknown" for 0.
std::string age_text(std::int64_t seconds_since_epoch);
/// Columns padded to their widest cell, two blanks between them; the first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);
/// "1 kernel", "3 kernels"
std::string plural(std::uint64_t count, const char* one, const char* many);
/// To stdout. Whether it could be written is asked once, at the end.
void print(const std::string& text);
/// Writes what has been printed; why that, or something before it, could not be written, "" where all was.
std::string flush_output();

}  // namespace kiln::command
