// tools/kiln/bundle_build.cpp -- kiln bundle build: recorded kernels to a bundle, on a machine without a GPU.
#include <charconv>

#include <fmt/format.h>

#include "runtime/tool_bundle_build.h"
#include "tools/kiln/command.h"
#include "tools/kiln/json.h"
#include "tools/kiln/text.h"

namespace kiln::command {
namespace {

/// The words of "sm_80,sm_90", of every occurrence of the option.
std::vector<std::string> list_of(Arguments& arguments, std::string_view option) {
  std::vector<std::string> words;
  while (const auto value = arguments.take_value(option)) {
    for (std::size_t at = 0; at <= value->size();) {
      const std::size_t end = std::min(value->find(',', at), value->size());
      if (end > at) words.push_back(value->substr(at, end - at));
      at = end + 1;
    }
  }
  return words;
}

unsigned jobs_of(Arguments& arguments) {
  unsigned jobs = 0;
  if (const auto text = arguments.take_value("--jobs")) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), jobs);
    if (error != std::errc() || end != text->data() + text->size() || jobs == 0 || jobs > 1024)
      throw Misuse("--jobs takes a number from 1 to 1024");
  }
  return jobs;
}

void print_json(const tool::BundleRequest& request, const tool::BundleBuilt& built) {
  Json notes = Json::array();
  for (const std::string& note : built.notes) notes.push_back(note);
  print(Json::object({{"path", request.output},
                      {"records", built.records},
                      {"unfinished_records", built.unfinished},
                      {"kernels", built.kernels},
                      {"images", built.images},
                      {"bytes", built.bytes},
                      {"notes", std::move(notes)}})
            .text());
}

void print_text(const tool::BundleRequest& request, const tool::BundleBuilt& built) {
  for (const std::string& note : built.notes) print("note: " + note + "\n");
  print(fmt::format("{}: {}, {}, {}; from {}\n", request.output, plural(built.kernels, "kernel", "kernels"),
                    plural(built.images, "image", "images"), size_text(built.bytes),
                    plural(built.records, "record", "records")));
}

}  // namespace

int run_bundle_build(Arguments& arguments) {
  tool::BundleRequest request;
  request.archs = list_of(arguments, "--arch");
  request.ptx = list_of(arguments, "--ptx");
  request.cpus = list_of(arguments, "--cpu");
  request.tunings = list_of(arguments, "--tuning");
  const bool as_json = arguments.take_flag("--json");
  request.jobs = jobs_of(arguments);
  request.output = arguments.take_value("-o").value_or("");
  for (std::string word = arguments.take_word(); !word.empty(); word = arguments.take_word())
    request.records.push_back(std::move(word));
  arguments.finish();
  if (request.records.empty()) throw Misuse("name the files that KILN_RECORD wrote");
  if (request.output.empty()) throw Misuse("name the bundle to write: -o app.klb");
  if (const std::string problem = tool::problem_of(request); !problem.empty()) throw Misuse(problem);
  const tool::BundleBuilt built = tool::build_bundle(request);
  if (as_json)
    print_json(request, built);
  else
    print_text(request, built);
  return success;
}

}  // namespace kiln::command
