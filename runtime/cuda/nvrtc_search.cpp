// runtime/cuda/nvrtc_search.cpp -- finds NVRTC by file name, without loading it.
#include "runtime/cuda/nvrtc_search.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "support/env.h"

namespace kiln::runtime::cuda {
namespace {

constexpr int oldest_major = 12;
constexpr int newest_major = 24;  // asking for a name costs less than reading a folder with thousands of them
constexpr std::string_view library_name = "libnvrtc.so";

/// Paths that match, in the order of the file system's names, last first: cuda-13.0 before cuda-12.4.
std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t result{};
  if (glob(pattern.c_str(), 0, nullptr, &result) == 0)
    for (std::size_t i = result.gl_pathc; i-- > 0;) paths.emplace_back(result.gl_pathv[i]);
  globfree(&result);
  return paths;
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<std::string> split_path(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(':', start), text.size());
    if (end > start) parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// Directories of /etc/ld.so.conf and the files it includes one level down; these and the defaults are what ld.so.cache
/// is made of.
std::vector<std::string> loader_directories() {
  std::vector<std::string> directories = split_path(foreign_variable("LD_LIBRARY_PATH"));
  std::vector<std::string> files = {"/etc/ld.so.conf"};
  append(files, matches("/etc/ld.so.conf.d/*.conf"));
  for (const std::string& file : files) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);)
      if (line.starts_with('/')) directories.push_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
  }
  for (const char* const directory :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib"})
    directories.emplace_back(directory);
  return directories;
}

std::vector<std::string> toolkit_directories() {
  std::vector<std::string> roots;
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string root = foreign_variable(name); !root.empty()) roots.push_back(std::move(root));
  roots.emplace_back("/usr/local/cuda");
  append(roots, matches("/usr/local/cuda-*"));
  std::vector<std::string> directories;
  for (const std::string& root : roots)
    for (const char* const sub : {"/lib64", "/lib", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"})
      directories.push_back(root + sub);
  return directories;
}

/// pip's packages nvidia-cuda-nvrtc (CUDA 13: nvidia/cu13/lib) and nvidia-cuda-nvrtc-cu12 (nvidia/cuda_nvrtc/lib).
std::vector<std::string> python_directories() {
  std::vector<std::string> packages = split_path(foreign_variable("PYTHONPATH"));
  std::vector<std::string> roots;
  for (const char* const name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string root = foreign_variable(name); !root.empty()) roots.push_back(root);
  if (const std::string home = foreign_variable("HOME"); !home.empty()) roots.push_back(home + "/.local");
  roots.emplace_back("/usr/local");
  roots.emplace_back("/usr");
  for (const std::string& root : roots)
    for (const char* const sub : {"/lib/python3*/site-packages", "/lib/python3*/dist-packages"})
      packages.push_back(root + sub);
  std::vector<std::string> directories;
  for (const std::string& package : packages) append(directories, matches(package + "/nvidia/*/lib"));
  return directories;
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

/// libnvrtc.so.12.4.99 is reached through its short name.
void look_in(const std::string& directory, NvrtcSearch& search) {
  if (!exists(directory)) return;
  const std::string path = fmt::format("{}/{}", directory, library_name);
  for (int major = newest_major; major >= oldest_major; --major)
    if (std::string versioned = fmt::format("{}.{}", path, major); exists(versioned))
      search.found.push_back(std::move(versioned));
  if (exists(path)) search.found.push_back(path);
}

}  // namespace

NvrtcPlaces nvrtc_places() {
  NvrtcPlaces places;
  places.named = setting("KILN_NVRTC");
  places.directories = loader_directories();
  append(places.directories, toolkit_directories());
  append(places.directories, python_directories());
  return places;
}

std::string first_nvrtc() {
  NvrtcSearch search = search_nvrtc({setting("KILN_NVRTC"), {}});
  for (const auto& directories : {loader_directories, toolkit_directories, python_directories}) {
    if (!search.found.empty()) break;
    search = search_nvrtc({"", directories()});
  }
  return search.found.empty() ? "" : search.found.front();
}

NvrtcSearch search_nvrtc(const NvrtcPlaces& places) {
  NvrtcSearch search;
  if (!places.named.empty()) {
    search.tried.push_back("KILN_NVRTC=" + places.named);
    struct stat status{};
    const bool found = ::stat(places.named.c_str(), &status) == 0;
    if (found && S_ISDIR(status.st_mode)) look_in(places.named, search);
    if (found && !S_ISDIR(status.st_mode)) search.found.push_back(places.named);
  }
  for (const std::string& directory : places.directories) {
    if (std::find(search.tried.begin(), search.tried.end(), directory) != search.tried.end()) continue;
    search.tried.push_back(directory);
    look_in(directory, search);
  }
  return search;
}

}  // namespace kiln::runtime::cuda
