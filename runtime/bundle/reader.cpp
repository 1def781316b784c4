// runtime/bundle/reader.cpp -- an opened bundle: look-ups, and images checked when they are first used.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/parse.h"
#include "support/check.h"
#include "support/file_system.h"
#include "support/files.h"

namespace kiln::runtime {

using bundle_format::Blob;

namespace {

/// The bytes of a file: mapped, the caller's, or a copy of the caller's.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() {
    if (mapped_) files::unmap_memory(mapped_, view_.size());
    if (copy_) ::operator delete(copy_, std::align_val_t(bundle_alignment));
  }
  int map(const std::string& path) {
    std::size_t bytes = 0;
    const int error = files::map_file(path, mapped_, bytes);
    view_ = {static_cast<const char*>(mapped_), mapped_ ? bytes : 0};
    return error;
  }
  void borrow(std::string_view bytes) {
    view_ = bytes;
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % bundle_alignment == 0) return;
    copy_ = ::operator new(bytes.size(), std::align_val_t(bundle_alignment));
    std::memcpy(copy_, bytes.data(), bytes.size());
    view_ = {static_cast<const char*>(copy_), bytes.size()};
  }
  std::string_view view() const { return view_; }

 private:
  std::string_view view_;
  const void* mapped_ = nullptr;
  void* copy_ = nullptr;
};

const char* cure_of(int error) {
  switch (error) {
    case ENOENT:
      return "check the path";
    case EACCES:
    case EPERM:
      return "let this user read it";
    case EISDIR:
    case EINVAL:
      return "give the path of a regular file";
    default:
      return "check the file system that it lies on";
  }
}

}  // namespace

struct BundleReader::State {
  std::string name;
  Bytes bytes;
  bundle_format::Parsed parsed;
  /// By index of the blob: whether its bytes were compared with its checksum.
  std::unique_ptr<std::atomic<bool>[]> is_checked;

  void parse() {
    const std::string problem = bundle_format::parse(bytes.view(), parsed);
    if (!problem.empty()) fail<IoError>("cannot use the bundle {}: {}", name, problem);
    is_checked = std::make_unique<std::atomic<bool>[]>(parsed.blobs.size());
  }
  std::size_t blob_of(const BundleKernel& kernel) const {
    const auto found = std::lower_bound(parsed.blobs.begin(), parsed.blobs.end(), kernel.image_digest,
                                        [](const Blob& blob, const Digest& digest) {
                                          return std::memcmp(blob.digest, digest.data(), digest.size()) < 0;
                                        });
    KILN_INTERNAL_CHECK(found != parsed.blobs.end() &&
                            std::memcmp(found->digest, kernel.image_digest.data(), sizeof found->digest) == 0,
                        "the kernel is not of bundle {}", name);
    return static_cast<std::size_t>(found - parsed.blobs.begin());
  }
  /// "" or what is wrong with the image of a kernel.
  std::string image_problem(const BundleKernel& kernel, std::size_t index) const {
    if (!is_checked[index].load(std::memory_order_relaxed)) {
      if (std::string problem = bundle_format::blob_problem(bytes.view(), parsed.blobs[index]); !problem.empty())
        return problem;
      is_checked[index].store(true, std::memory_order_relaxed);
    }
    return bundle_format::image_problem(kernel, view_of(index));
  }
  std::string_view view_of(std::size_t index) const {
    return bytes.view().substr(parsed.blobs[index].offset, parsed.blobs[index].bytes);
  }
};

BundleReader::BundleReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
BundleReader::~BundleReader() = default;

std::shared_ptr<const BundleReader> BundleReader::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->name = path;
  if (const int error = state->bytes.map(path))
    fail<IoError>("cannot read the bundle {}: {}; {}", path, files::error_text(error), cure_of(error));
  state->parse();
  return std::shared_ptr<const BundleReader>(new BundleReader(std::move(state)));
}

std::shared_ptr<const BundleReader> BundleReader::from_memory(std::string_view bytes, const std::string& name) {
  auto state = std::make_unique<State>();
  state->name = name;
  state->bytes.borrow(bytes);
  state->parse();
  return std::shared_ptr<const BundleReader>(new BundleReader(std::move(state)));
}

const std::string& BundleReader::name() const { return state_->name; }

std::uint64_t BundleReader::file_bytes() const { return state_->bytes.view().size(); }

std::span<const BundleKernel> BundleReader::kernels() const { return state_->parsed.kernels; }

std::span<const BundleKernel> BundleReader::kernels(const Digest& identity) const {
  struct ByIdentity {
    bool operator()(const BundleKernel& kernel, const Digest& wanted) const { return kernel.identity < wanted; }
    bool operator()(const Digest& wanted, const BundleKernel& kernel) const { return wanted < kernel.identity; }
  };
  const auto& all = state_->parsed.kernels;
  const auto [first, last] = std::equal_range(all.begin(), all.end(), identity, ByIdentity());
  return {first, last};
}

std::string_view BundleReader::image(const BundleKernel& kernel) const {
  const std::size_t index = state_->blob_of(kernel);
  if (const std::string problem = state_->image_problem(kernel, index); !problem.empty())
    fail<IoError>(
        "bundle {}: the image of kernel {} for {} is damaged ({}): copy the file again, or build it again with `kiln "
        "bundle build`",
        state_->name, kernel.title, kernel.target, problem);
  return state_->view_of(index);
}

std::span<const BundleTuning> BundleReader::tunings() const { return state_->parsed.tunings; }

const BundleTuning* BundleReader::tuning(std::string_view device, std::int32_t multiprocessors) const {
  for (const BundleTuning& tuning : state_->parsed.tunings)
    if (tuning.device == device && tuning.multiprocessors == multiprocessors) return &tuning;
  return nullptr;
}

std::vector<std::string> BundleReader::verify() const {
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < state_->parsed.blobs.size(); ++i)
    state_->is_checked[i].store(false, std::memory_order_relaxed);
  for (const BundleKernel& kernel : kernels()) {
    const std::size_t index = state_->blob_of(kernel);
    if (const std::string problem = state_->image_problem(kernel, index); !problem.empty())
      problems.push_back(fmt::format("{} for {}: {}", kernel.title, kernel.target, problem));
  }
  return problems;
}

}  // namespace kiln::runtime
