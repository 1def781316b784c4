// tools/kiln/info.cpp -- kiln info.
#include <algorithm>

#include <fmt/format.h>
#include <kiln/tuning.h>

#include "runtime/tool_report.h"
#include "tools/kiln/cache_json.h"
#include "tools/kiln/command.h"
#include "tools/kiln/json.h"
#include "tools/kiln/text.h"

namespace kiln::command {
namespace {

using tool::DeviceReport;
using tool::Problem;
using tool::SettingReport;
using tool::SystemReport;

std::string joined(const std::vector<std::string>& items, const char* between) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : between) + item;
  return text;
}

Json device_json(const DeviceReport& device) {
  return Json::object({{"id", device.id},
                       {"name", device.name},
                       {"arch", device.arch},
                       {"multiprocessors", device.multiprocessors},
                       {"memory_bytes", device.memory_bytes}});
}

Json report_json(const SystemReport& report, bool is_good) {
  Json gpus = Json::array(), settings = gpus, problems = gpus, archs = gpus, tried = gpus;
  for (const DeviceReport& gpu : report.gpus) gpus.push_back(device_json(gpu));
  for (const SettingReport& s : report.settings)
    settings.push_back(Json::object({{"name", s.name}, {"value", s.value}, {"origin", s.origin}}));
  for (const Problem& problem : report.problems)
    problems.push_back(Json::object({{"serious", problem.serious}, {"what", problem.what}, {"cure", problem.cure}}));
  for (const std::string& arch : report.nvrtc_archs) archs.push_back(arch);
  for (const std::string& place : report.nvrtc_tried) tried.push_back(place);
  Json cpu = device_json(report.cpu);
  cpu.add("vector_bits", report.cpu_vector_bits);
  return Json::object(
      {{"ok", is_good},
       {"version", report.version},
       {"build", report.build},
       {"library", report.library},
       {"nvrtc", Json::object({{"version", report.nvrtc_version},
                               {"path", report.nvrtc_path},
                               {"archs", std::move(archs)},
                               {"tried", std::move(tried)}})},
       {"driver", report.driver_version},
       {"gpus", std::move(gpus)},
       {"cpu", std::move(cpu)},
       {"cpu_compiler", Json::object({{"version", report.cpu_compiler_version}, {"path", report.cpu_compiler_path}})},
       {"default_device", report.default_device},
       {"cache", cache_json(report.cache)},
       {"environment", std::move(settings)},
       {"problems", std::move(problems)}});
}

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

std::string devices_text(const SystemReport& report) {
  std::string text = "\nCUDA\n";
  text += fmt::format("  NVRTC     {}{}\n", or_none(report.nvrtc_version),
                      report.nvrtc_path.empty() ? "" : "  " + report.nvrtc_path);
  if (!report.nvrtc_archs.empty())
    text += fmt::format("            compiles for {}\n", joined(report.nvrtc_archs, ", "));
  if (!report.nvrtc_tried.empty())
    text += fmt::format("            looked in\n              {}\n", joined(report.nvrtc_tried, "\n              "));
  text += fmt::format("  driver    {}\n", or_none(report.driver_version));
  for (const DeviceReport& gpu : report.gpus)
    text += fmt::format("  {:9} {}, {}, {}, {} multiprocessors\n", gpu.id, gpu.name, gpu.arch,
                        size_text(gpu.memory_bytes), gpu.multiprocessors);
  if (report.gpus.empty()) text += "  GPU       none\n";
  text += fmt::format("\nCPU\n  cpu       {}, {} threads, {}-bit vectors, {}\n            {}\n", report.cpu.name,
                      report.cpu.multiprocessors, report.cpu_vector_bits, size_text(report.cpu.memory_bytes),
                      report.cpu.arch);
  text += fmt::format("  compiler  {}{}\n", or_none(report.cpu_compiler_version),
                      report.cpu_compiler_path.empty() ? "" : "  " + report.cpu_compiler_path);
  text += fmt::format("\ndefault device: {}\n", or_none(report.default_device));
  return text;
}

std::string problems_text(const std::vector<Problem>& problems) {
  if (problems.empty()) return "\nno problems\n";
  std::string text = "\n";
  for (const Problem& problem : problems) {
    text += fmt::format("{}: {}\n", problem.serious ? "problem" : "note", problem.what);
    if (!problem.cure.empty()) text += fmt::format("  cure: {}\n", problem.cure);
  }
  return text;
}

std::string report_text(const SystemReport& report) {
  std::string text = fmt::format("kiln {}  {}\n  {}\n", report.version, report.library, report.build);
  text += devices_text(report);
  text += "\ncache: " + cache_text(report.cache);
  if (const std::size_t tuned = tuning::records().size(); tuned > 0)
    text += fmt::format("  {} result{} of tuning (kiln tune ls)\n", tuned, tuned == 1 ? "" : "s");
  text += "\nenvironment\n";
  std::vector<std::vector<std::string>> rows;
  for (const SettingReport& s : report.settings)
    rows.push_back({"  " + s.name, s.value.empty() ? "(unset)" : s.value, s.origin});
  return text + table(rows) + problems_text(report.problems);
}

}  // namespace

int run_info(Arguments& arguments) {
  const bool as_json = arguments.take_flag("--json");
  arguments.finish();
  const SystemReport report = tool::system_report();
  const bool is_good =
      std::none_of(report.problems.begin(), report.problems.end(), [](const Problem& p) { return p.serious; });
  if (as_json) {
    print(report_json(report, is_good).text());
  } else {
    print(report_text(report));
  }
  return is_good ? success : trouble;
}

}  // namespace kiln::command
