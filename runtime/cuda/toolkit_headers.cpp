// runtime/cuda/toolkit_headers.cpp -- the header directories of the CUDA toolkit that NVRTC belongs to.
#include <sys/stat.h>

#include <algorithm>

#include "runtime/cuda/nvrtc_search.h"
#include "runtime/cuda_interface.h"
#include "support/env.h"
#include "support/files.h"
#include "support/fork_safe.h"

namespace kiln::runtime::cuda {
namespace {

constexpr const char* marker = "/cuda.h";  // states the version of the toolkit

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

/// The directory of toolkit headers, best first: beside NVRTC, so that both are of one version, then as installed.
std::string find_headers() {
  std::vector<std::string> candidates;
  for (const std::string& library : search_nvrtc(nvrtc_places()).found) {
    const std::string directory = library.substr(0, library.rfind('/'));
    candidates.push_back(directory + "/../include");
    candidates.push_back(directory + "/../../cuda_runtime/include");  // pip's packages for CUDA 12
  }
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string root = foreign_variable(name); !root.empty()) candidates.push_back(root + "/include");
  candidates.emplace_back("/usr/local/cuda/include");
  const auto found =
      std::find_if(candidates.begin(), candidates.end(), [](const auto& path) { return exists(path + marker); });
  return found == candidates.end() ? "" : *found;
}

}  // namespace

std::vector<std::string> toolkit_includes(const KernelSource& source) {
  if (source.expression.empty()) return {};  // kiln's own sources include nothing
  const auto includes = [](const std::string& text) { return text.find("include") != std::string::npos; };
  if (!includes(source.text) && std::none_of(source.headers.begin(), source.headers.end(),
                                             [&](const auto& header) { return includes(header.second); }))
    return {};
  static constinit Leaked<const std::string> found;
  const std::string& headers = found.get([] { return new std::string(find_headers()); });
  if (headers.empty()) return {};
  std::vector<std::string> directories = {headers};
  if (exists(headers + "/cccl")) directories.push_back(headers + "/cccl");  // CUDA 13: cuda/std, cub, thrust
  return directories;
}

std::string toolkit_identity(const std::vector<std::string>& directories) {
  return directories.empty() ? "" : directories.front() + ": " + files::identity(directories.front() + marker);
}

}  // namespace kiln::runtime::cuda
