// tools/kiln/bundle.cpp -- kiln bundle ls, verify, merge, diff.
#include <fmt/format.h>

#include "runtime/tool_bundle.h"
#include "tools/kiln/command.h"
#include "tools/kiln/json.h"
#include "tools/kiln/text.h"

namespace kiln::command {
namespace {

using tool::BundleChange;
using tool::BundleDevice;
using tool::BundleItem;
using tool::BundleListing;
using tool::BundleMerge;

std::string take_path(Arguments& arguments, const char* what) {
  std::string path = arguments.take_word();
  if (path.empty()) throw Misuse(fmt::format("name {}", what));
  return path;
}

Json listing_json(const std::string& path, const BundleListing& listing) {
  Json items = Json::array(), devices = Json::array();
  for (const BundleItem& item : listing.items)
    items.push_back(Json::object({{"title", item.title},
                                  {"target", item.target},
                                  {"kind", item.kind},
                                  {"identity", item.identity},
                                  {"identity_version", item.identity_version},
                                  {"entry", item.entry},
                                  {"options", item.options},
                                  {"compiler", item.compiler},
                                  {"plan", item.plan},
                                  {"registers", item.registers},
                                  {"spill_bytes", item.spill_bytes},
                                  {"shared_bytes", item.shared_bytes},
                                  {"local_bytes", item.local_bytes},
                                  {"image_bytes", item.image_bytes},
                                  {"image_digest", item.image_digest}}));
  for (const BundleDevice& device : listing.devices)
    devices.push_back(Json::object(
        {{"device", device.device}, {"multiprocessors", device.multiprocessors}, {"lines", device.lines}}));
  return Json::object({{"path", path},
                       {"bytes", listing.file_bytes},
                       {"format", listing.format_version},
                       {"kernels", listing.kernels},
                       {"images", std::move(items)},
                       {"tuned", std::move(devices)}});
}

std::string count_text(int count) { return count < 0 ? "" : fmt::format("{}", count); }

int ls(Arguments& arguments) {
  const bool as_json = arguments.take_flag("--json");
  const std::string path = take_path(arguments, "a bundle");
  arguments.finish();
  const BundleListing listing = tool::list_bundle(path);
  if (as_json) {
    print(listing_json(path, listing).text());
    return success;
  }
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "TARGET", "SIZE", "REGISTERS", "SPILLS", "SHARED", "COMPILER", "KERNEL"}};
  for (const BundleItem& item : listing.items)
    rows.push_back({item.entry, item.target, size_text(static_cast<std::uint64_t>(item.image_bytes)),
                    count_text(item.registers), count_text(item.spill_bytes), count_text(item.shared_bytes),
                    item.compiler, item.title});
  print(table(rows));
  for (const BundleDevice& device : listing.devices)
    print(fmt::format("tuned for {}, {} multiprocessors: {}\n", device.device, device.multiprocessors,
                      plural(device.lines, "line", "lines")));
  print(fmt::format("{}, {}, {}\n", plural(listing.kernels, "kernel", "kernels"),
                    plural(listing.items.size(), "image", "images"), size_text(listing.file_bytes)));
  return success;
}

int verify(Arguments& arguments) {
  const bool as_json = arguments.take_flag("--json");
  const std::string path = take_path(arguments, "a bundle");
  arguments.finish();
  const std::vector<std::string> problems = tool::verify_bundle(path);
  const std::size_t images = tool::list_bundle(path).items.size();
  if (as_json) {
    Json list = Json::array();
    for (const std::string& problem : problems) list.push_back(problem);
    print(Json::object({{"path", path}, {"images", images}, {"problems", std::move(list)}}).text());
  } else {
    for (const std::string& problem : problems) print(problem + "\n");
    print(fmt::format("{}, {} damaged{}\n", plural(images, "image", "images"), problems.size(),
                      problems.empty() ? "" : "; copy the file again, or build it again"));
  }
  return problems.empty() ? success : trouble;
}

int merge(Arguments& arguments) {
  const bool as_json = arguments.take_flag("--json");
  const auto output = arguments.take_value("-o");
  std::vector<std::string> inputs;
  for (std::string path = arguments.take_word(); !path.empty(); path = arguments.take_word())
    inputs.push_back(std::move(path));
  arguments.finish();
  if (!output) throw Misuse("name the bundle to write: -o all.klb");
  if (inputs.empty()) throw Misuse("name the bundles to merge");
  const BundleMerge result = tool::merge_bundles(inputs, *output);
  if (as_json) {
    Json conflicts = Json::array();
    for (const std::string& conflict : result.conflicts) conflicts.push_back(conflict);
    print(Json::object({{"path", *output},
                        {"kernels", result.kernels},
                        {"images", result.images},
                        {"tuned", result.devices},
                        {"bytes", result.bytes},
                        {"conflicts", std::move(conflicts)}})
              .text());
    return result.conflicts.empty() ? success : trouble;
  }
  for (const std::string& conflict : result.conflicts) print("conflict: " + conflict + "\n");
  if (!result.conflicts.empty()) {
    print(fmt::format("{}; nothing was written: build these kernels again with one compiler and one kiln\n",
                      plural(result.conflicts.size(), "conflict", "conflicts")));
    return trouble;
  }
  print(fmt::format("{}: {}, {}, {}\n", *output, plural(result.kernels, "kernel", "kernels"),
                    plural(result.images, "image", "images"), size_text(result.bytes)));
  return success;
}

const char* name_of(BundleChange::Kind kind) {
  using Kind = BundleChange::Kind;
  return kind == Kind::added ? "added" : kind == Kind::removed ? "removed" : "changed";
}

int diff(Arguments& arguments) {
  const bool as_json = arguments.take_flag("--json");
  const std::string before = take_path(arguments, "two bundles"), after = take_path(arguments, "two bundles");
  arguments.finish();
  const std::vector<BundleChange> changes = tool::diff_bundles(before, after);
  std::vector<std::vector<std::string>> rows = {{"CHANGE", "KERNEL", "TARGET", "DETAILS"}};
  Json list = Json::array();
  for (const BundleChange& change : changes) {
    rows.push_back({name_of(change.kind), change.what, change.target, change.details});
    list.push_back(Json::object({{"change", name_of(change.kind)},
                                 {"what", change.what},
                                 {"target", change.target},
                                 {"details", change.details}}));
  }
  print(as_json ? list.text() : changes.empty() ? "no differences\n" : table(rows));
  return changes.empty() ? success : trouble;
}

}  // namespace

int run_bundle(Arguments& arguments) {
  const std::string name = arguments.take_word();
  static constexpr Action actions[] = {
      {"build", run_bundle_build}, {"ls", ls}, {"verify", verify}, {"merge", merge}, {"diff", diff}};
  if (const Action* const action = find_action(actions, name)) return action->run(arguments);
  throw Misuse(name.empty() ? "what about the bundle?" : fmt::format("kiln bundle has no \"{}\"", name));
}

}  // namespace kiln::command
