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
void print(const std::string& text);

}  // namespace kiln::command
