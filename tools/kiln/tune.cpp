// tools/kiln/tune.cpp -- kiln tune TRACE, ls, export, import, forget: what tuning finds, here or elsewhere.
#include <cmath>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <kiln/tuning.h>

#include "runtime/tool_tune.h"
#include "tools/kiln/command.h"
#include "tools/kiln/json.h"
#include "tools/kiln/text.h"

namespace kiln::command {
namespace {

using tuning::TunedKernel;

/// "32 MiB": the size bucket that a record is for begins there.
std::string bucket_text(int size) { return size_text(std::uint64_t{1} << size); }

std::string gain_text(const TunedKernel& kernel) {
  if (std::string_view(kernel.choice) == kernel.heuristic) return "-";
  return fmt::format("{:.1f} %", 100 * (kernel.heuristic_us - kernel.choice_us) / kernel.heuristic_us);
}

std::int64_t nanoseconds(double microseconds) { return std::llround(1e3 * microseconds); }

Json kernels_json(const std::vector<TunedKernel>& kernels) {
  Json list = Json::array();
  for (const TunedKernel& kernel : kernels)
    list.push_back(Json::object({{"kernel", kernel.kernel},
                                 {"name", kernel.name},
                                 {"device", kernel.device},
                                 {"multiprocessors", kernel.multiprocessors},
                                 {"least_bytes", std::int64_t{1} << kernel.size},
                                 {"choice", kernel.choice},
                                 {"heuristic", kernel.heuristic},
                                 {"any_order", kernel.any_order},
                                 {"choice_ns", nanoseconds(kernel.choice_us)},
                                 {"heuristic_ns", nanoseconds(kernel.heuristic_us)},
                                 {"runs", kernel.runs},
                                 {"date", kernel.date}}));
  return list;
}

int ls(Arguments& arguments) {
  const bool as_json = arguments.take_flag("--json");
  arguments.finish();
  const std::vector<TunedKernel> kernels = tuning::records();
  if (as_json) {
    print(kernels_json(kernels).text());
    return success;
  }
  std::vector<std::vector<std::string>> rows = {
      {"KERNEL", "FROM", "DEVICE", "HEURISTIC", "TUNED", "GAIN", "AGE", "SCHEDULE"}};
  for (const TunedKernel& kernel : kernels)
    rows.push_back(
        {kernel.name, bucket_text(kernel.size), fmt::format("{} ({} SMs)", kernel.device, kernel.multiprocessors),
         fmt::format("{:.2f} us", kernel.heuristic_us), fmt::format("{:.2f} us", kernel.choice_us), gain_text(kernel),
         age_text(kernel.date), std::string(kernel.choice) + (kernel.any_order ? " (any order)" : "")});
  print(table(rows));
  return success;
}

int export_records(Arguments& arguments) {
  const std::optional<std::string> path = arguments.take_value("--output");
  arguments.finish();
  const std::vector<char> lines = tuning::export_records();
  const std::string text(lines.begin(), lines.end());
  if (!path) {
    print(text);
    return success;
  }
  std::ofstream file(*path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (file) return success;
  print(fmt::format("problem: {} cannot be written\n", *path));
  return trouble;
}

int import_records(Arguments& arguments) {
  std::vector<std::string> paths;
  for (std::string path = arguments.take_word(); !path.empty(); path = arguments.take_word()) paths.push_back(path);
  arguments.finish();
  if (paths.empty()) throw Misuse("which files are to be imported?");
  int status = success;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      print(fmt::format("problem: {} cannot be read\n", path));
      status = trouble;
      continue;
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const tuning::Import result = tuning::import_records(text, true);
    print(
        fmt::format("{}: {} taken, {} known, {} not understood\n", path, result.taken, result.known, result.rejected));
    if (result.rejected > 0) {
      print(fmt::format("problem: {} not what `kiln tune export` of this version writes\n",
                        plural(result.rejected, "line is", "lines are")));
      status = trouble;
    }
    if (result.unwritten > 0) {
      print(fmt::format("problem: {} could not be written\n", result.unwritten));
      status = trouble;
    }
  }
  return status;
}

int forget(Arguments& arguments) {
  const std::optional<std::string> device = arguments.take_value("--device");
  arguments.finish();
  print(fmt::format("removed {}\n", tuning::forget(device.value_or("").c_str())));
  return success;
}

void print_result(const tool::OfflineTuning& result, std::size_t done, std::size_t all) {
  std::string text = fmt::format("[{}/{}] {}: ", done, all, result.name.empty() ? result.file : result.name);
  if (!result.problem.empty()) {
    text += (result.serious ? "problem: " : "not tuned: ") + result.problem;
  } else if (result.choice == result.heuristic) {
    text += fmt::format("nothing is faster than {:.2f} us", result.heuristic_us);
  } else {
    text += fmt::format("{:.2f} us instead of {:.2f} us with {}", result.choice_us, result.heuristic_us, result.choice);
  }
  print(text + (result.was_known ? " (known)" : result.is_kept ? "" : "; problem: it could not be written") + "\n");
  flush_output();
}

/// Measures what a program noted beside its trace.
int tune(const std::string& trace, Arguments& arguments) {
  const bool again = arguments.take_flag("--again");
  arguments.finish();
  int status = success;
  tool::tune_offline(trace, again, [&](const tool::OfflineTuning& result, std::size_t done, std::size_t all) {
    print_result(result, done, all);
    if (result.serious || !result.is_kept) status = trouble;
  });
  return status;
}

}  // namespace

int run_tune(Arguments& arguments) {
  const std::string name = arguments.take_word();
  static constexpr Action actions[] = {
      {"ls", ls}, {"export", export_records}, {"import", import_records}, {"forget", forget}};
  if (const Action* const action = find_action(actions, name)) return action->run(arguments);
  if (name.empty()) throw Misuse("what about tuning?");
  return tune(name, arguments);
}

}  // namespace kiln::command
