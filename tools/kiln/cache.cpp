// tools/kiln/cache.cpp -- kiln cache stats, ls, verify, prune, clear.
#include <map>

#include <fmt/format.h>
#include <kiln/tuning.h>

#include "runtime/tool_cache.h"
#include "tools/kiln/cache_json.h"
#include "tools/kiln/command.h"
#include "tools/kiln/text.h"

namespace kiln::command {
namespace {

using tool::CacheEntry;
using tool::CacheRemoval;
using tool::CacheState;

std::string kind_of(const CacheEntry& entry) {
  if (!entry.damage.empty()) return "damaged";
  if (entry.other_version) return "of another version of kiln";
  return entry.compiler + (entry.language == "llvm" ? " for the CPU" : ", " + entry.arch);
}

int stats(Arguments& arguments) {
  const bool as_json = arguments.take_flag("--json");
  arguments.finish();
  const CacheState state = tool::cache_state();
  if (as_json) {
    Json object = cache_json(state);
    object.add("tuned", tuning::records().size());
    print(object.text());
    return state.problem.empty() ? success : trouble;
  }
  print(cache_text(state));
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> kinds;  // by compiler and architecture
  if (state.usable) {
    for (const CacheEntry& entry : tool::cache_entries(false)) {
      auto& [count, bytes] = kinds[kind_of(entry)];
      ++count;
      bytes += entry.bytes;
    }
  }
  for (const auto& [kind, sum] : kinds)
    print(fmt::format("  {}: {}, {}\n", kind, plural(sum.first, "entry", "entries"), size_text(sum.second)));
  if (const std::size_t tuned = tuning::records().size(); tuned > 0)
    print(fmt::format("  tuning: {} (kiln tune ls)\n", plural(tuned, "result", "results")));
  return state.problem.empty() ? success : trouble;
}

Json entries_json(const std::vector<CacheEntry>& entries) {
  Json list = Json::array();
  for (const CacheEntry& entry : entries) {
    Json item = Json::object({{"path", entry.path},
                              {"kernel", entry.kernel},
                              {"arch", entry.arch},
                              {"compiler", entry.compiler},
                              {"language", entry.language},
                              {"bytes", entry.bytes},
                              {"used", entry.used_s}});
    if (entry.created_s) item.add("created", entry.created_s);
    if (!entry.damage.empty()) item.add("damage", entry.damage);
    if (entry.other_version) item.add("other_version", true);
    list.push_back(std::move(item));
  }
  return list;
}

int ls(Arguments& arguments) {
  const bool as_json = arguments.take_flag("--json");
  arguments.finish();
  const std::vector<CacheEntry> entries = tool::cache_entries(false);
  if (as_json) {
    print(entries_json(entries).text());
    return success;
  }
  std::vector<std::vector<std::string>> rows = {{"KERNEL", "ARCH", "SIZE", "AGE", "LAST USE", "COMPILER"}};
  for (const CacheEntry& entry : entries) {
    if (!entry.damage.empty() || entry.other_version) {
      rows.push_back({"(" + kind_of(entry) + ")", "", size_text(entry.bytes), "", age_text(entry.used_s), ""});
      continue;
    }
    // The features of a CPU are a line of their own length; --json has them.
    const std::string arch = entry.arch.substr(0, entry.arch.find(' '));
    rows.push_back({entry.kernel, arch, size_text(entry.bytes), age_text(entry.created_s), age_text(entry.used_s),
                    entry.compiler});
  }
  print(table(rows));
  return success;
}

int verify(Arguments& arguments) {
  const bool as_json = arguments.take_flag("--json");
  arguments.finish();
  const std::vector<CacheEntry> entries = tool::cache_entries(true);
  std::vector<CacheEntry> damaged;
  std::uint64_t others = 0;
  for (const CacheEntry& entry : entries) {
    if (!entry.damage.empty()) damaged.push_back(entry);
    others += entry.other_version;
  }
  if (as_json) {
    print(Json::object({{"entries", entries.size()}, {"other_versions", others}, {"damaged", entries_json(damaged)}})
              .text());
  } else {
    for (const CacheEntry& entry : damaged) print(fmt::format("{}: {}\n", entry.path, entry.damage));
    print(fmt::format("{}, {} damaged{}\n", plural(entries.size(), "entry", "entries"), damaged.size(),
                      damaged.empty() ? "" : "; the next use of their kernels replaces them"));
    if (others) print(fmt::format("{} of another version of kiln, not checked\n", others));
  }
  return damaged.empty() ? success : trouble;
}

int report(const CacheRemoval& removal) {
  print(fmt::format("removed {}, {}; {} left\n", plural(removal.entries, "entry", "entries"), size_text(removal.bytes),
                    size_text(removal.left)));
  if (removal.problem.empty()) return success;
  print(fmt::format("problem: {}\n", removal.problem));
  return trouble;
}

int prune(Arguments& arguments) {
  std::uint64_t limit = tool::cache_state().limit;
  if (const auto text = arguments.take_value("--limit"); text && !tool::parse_cache_size(*text, limit))
    throw Misuse(fmt::format("--limit {} is not a size such as 500M or 2G", *text));
  arguments.finish();
  return report(tool::prune_cache(limit));
}

int clear(Arguments& arguments) {
  arguments.finish();
  return report(tool::clear_cache());
}

}  // namespace

Json cache_json(const CacheState& state) {
  return Json::object({{"directory", state.directory},
                       {"mode", state.mode},
                       {"problem", state.problem},
                       {"exists", state.exists},
                       {"usable", state.usable},
                       {"writable", state.writable},
                       {"owner", state.owner},
                       {"limit", state.limit},
                       {"entries", state.entries},
                       {"bytes", state.bytes},
                       {"unfinished", state.unfinished},
                       {"unfinished_bytes", state.unfinished_bytes}});
}

std::string cache_text(const CacheState& state) {
  std::string text = fmt::format("{}\n", state.directory.empty() ? "no directory" : state.directory);
  const char* const access = !state.exists         ? "not there yet"
                             : state.mode == "ro"  ? "read only by KILN_CACHE"
                             : state.mode == "off" ? "switched off by KILN_CACHE"
                             : state.writable      ? "writable"
                                                   : "not writable";
  text += fmt::format("  {}, {} of {}, {}{}\n", plural(state.entries, "entry", "entries"), size_text(state.bytes),
                      size_text(state.limit), access, state.owner.empty() ? "" : ", belongs to " + state.owner);
  if (state.unfinished)
    text += fmt::format("  {} of publications under way or killed, {}\n", plural(state.unfinished, "file", "files"),
                        size_text(state.unfinished_bytes));
  if (!state.problem.empty()) text += fmt::format("  problem: {}\n", state.problem);
  return text;
}

int run_cache(Arguments& arguments) {
  const std::string name = arguments.take_word();
  static constexpr Action actions[] = {
      {"stats", stats}, {"ls", ls}, {"verify", verify}, {"prune", prune}, {"clear", clear}};
  if (const Action* const action = find_action(actions, name)) return action->run(arguments);
  throw Misuse(name.empty() ? "what about the cache?" : fmt::format("kiln cache has no \"{}\"", name));
}

}  // namespace kiln::command
