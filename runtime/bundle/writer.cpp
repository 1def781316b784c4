// runtime/bundle/writer.cpp -- collects kernels, in any order, and writes the file.
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "runtime/bundle/format.h"
#include "runtime/bundle/layout.h"
#include "support/check.h"
#include "support/files.h"

namespace kiln::runtime {

using namespace bundle_format;

struct BundleWriter::State {
  struct Owned {
    BundleKernel kernel;  ///< whose texts are views of these
    std::string texts[text_count];
  };
  struct OwnedTuning {
    BundleTuning tuning;
    std::string device, record;
  };
  std::map<std::pair<Digest, std::string>, Owned, std::less<>> kernels;
  std::map<std::pair<std::string, std::int32_t>, OwnedTuning> tunings;
  std::map<Digest, std::string> images;

  /// Maps are in order.
  Contents in_order() const {
    Contents contents;
    for (const auto& [key, owned] : kernels) contents.kernels.push_back(&owned.kernel);
    for (const auto& [key, owned] : tunings) contents.tunings.push_back(&owned.tuning);
    for (const auto& [digest, image] : images) contents.images.emplace_back(&digest, image);
    return contents;
  }
};

BundleWriter::BundleWriter() : state_(std::make_unique<State>()) {}
BundleWriter::BundleWriter(BundleWriter&&) noexcept = default;
BundleWriter& BundleWriter::operator=(BundleWriter&&) noexcept = default;
BundleWriter::~BundleWriter() = default;

namespace {

/// For messages: "saxpy f32[n] for sm_90".
std::string called(const BundleKernel& kernel) {
  return fmt::format("kernel {} for {}", bundle_text(kernel.title), bundle_text(kernel.target));
}

bool are_equal(const BundleKernel& a, const BundleKernel& b) {
  for (std::uint32_t i = 0; i < text_count; ++i)
    if (text_of(a, i) != text_of(b, i)) return false;
  return a.kind == b.kind && a.identity_version == b.identity_version && a.registers == b.registers &&
         a.spill_bytes == b.spill_bytes && a.shared_bytes == b.shared_bytes && a.local_bytes == b.local_bytes &&
         a.image_digest == b.image_digest && a.image_bytes == b.image_bytes;
}

}  // namespace

void BundleWriter::add(const BundleKernel& kernel, std::string_view image) {
  std::string problem = kernel_problem(kernel);
  if (problem.empty() && image.empty()) problem = "its image is empty";
  if (problem.empty() && image.size() > BundleLimits::image_bytes)
    problem = fmt::format("its image has {} bytes, more than {}", image.size(), BundleLimits::image_bytes);
  if (problem.empty() && kernel.kind == ImageKind::ptx && image.back() != '\0')
    problem = "its PTX does not end with a NUL";
  if (!problem.empty()) fail<IoError>("{} cannot be put into a bundle: {}", called(kernel), problem);
  BundleKernel added = kernel;
  added.image_bytes = image.size();
  added.image_digest = blake3(image);
  if (const BundleKernel* const known = find(kernel.identity, kernel.target)) {
    if (are_equal(*known, added)) return;
    fail<IoError>(
        "{} is added twice with different contents: its identity {} does not say everything that it depends on, or a "
        "compiler's output is not reproducible",
        called(kernel), to_hex(kernel.identity, 8));
  }
  if (state_->kernels.size() >= BundleLimits::kernels)
    fail<IoError>("a bundle holds at most {} kernels: make several", BundleLimits::kernels);
  State::Owned& owned = state_->kernels[{kernel.identity, std::string(kernel.target)}];
  owned.kernel = added;
  for (std::uint32_t i = 0; i < text_count; ++i) {
    owned.texts[i] = text_of(kernel, i);
    text_of(owned.kernel, i) = owned.texts[i];
  }
  state_->images.try_emplace(added.image_digest, image);
}

void BundleWriter::add(const BundleTuning& tuning) {
  if (const std::string problem = tuning_problem(tuning); !problem.empty())
    fail<IoError>("the tuned launches of {} cannot be put into a bundle: {}", bundle_text(tuning.device), problem);
  if (const BundleTuning* const known = find_tuning(tuning.device, tuning.multiprocessors)) {
    if (known->record == tuning.record) return;
    fail<IoError>("there are different tuned launches of {} with {} multiprocessors: merge them before", tuning.device,
                  tuning.multiprocessors);
  }
  if (state_->tunings.size() >= BundleLimits::tunings)
    fail<IoError>("a bundle holds tuned launches of at most {} devices", BundleLimits::tunings);
  State::OwnedTuning& owned = state_->tunings[{std::string(tuning.device), tuning.multiprocessors}];
  owned.device = tuning.device;
  owned.record = tuning.record;
  owned.tuning = {owned.device, tuning.multiprocessors, owned.record};
}

const BundleKernel* BundleWriter::find(const Digest& identity, std::string_view target) const {
  const auto found = state_->kernels.find(std::pair(identity, std::string(target)));
  return found == state_->kernels.end() ? nullptr : &found->second.kernel;
}

std::string_view BundleWriter::image(const BundleKernel& kernel) const {
  const auto found = state_->images.find(kernel.image_digest);
  KILN_INTERNAL_CHECK(found != state_->images.end(), "the kernel is not of this writer");
  return found->second;
}

const BundleTuning* BundleWriter::find_tuning(std::string_view device, std::int32_t multiprocessors) const {
  const auto found = state_->tunings.find({std::string(device), multiprocessors});
  return found == state_->tunings.end() ? nullptr : &found->second.tuning;
}

std::size_t BundleWriter::kernel_count() const { return state_->kernels.size(); }

namespace {

/// Where to write so that a link stays a link; "" or why not there.
std::string resolve_target(const std::string& path, std::string& target) {
  target = path;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return "";
  if (!S_ISREG(status.st_mode)) return "there is something that is no regular file; give the path of a file";
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (real) target = real.get();
  return "";
}

const char* cure_of(int error) {
  switch (error) {
    case ENOENT:
      return "make the directory first";
    case ENOSPC:
    case EDQUOT:
      return "free space there, or write elsewhere";
    case EACCES:
    case EPERM:
    case EROFS:
      return "write to a place that this user may write";
    default:
      return "write elsewhere";
  }
}

}  // namespace

std::string BundleWriter::contents() const {
  const Layout layout = lay_out(state_->in_order());
  std::string file;
  for (const std::string_view part : layout.parts) file += part;
  return file;
}

void BundleWriter::write(const std::string& path) const {
  const Layout layout = lay_out(state_->in_order());
  std::string target;
  if (const std::string problem = resolve_target(path, target); !problem.empty())
    fail<IoError>("cannot write the bundle {}: {}", path, problem);
  if (const int error = files::publish(target, layout.parts, 0666))
    fail<IoError>("cannot write the bundle {}: {}; {}", path, files::error_text(error), cure_of(error));
}

}  // namespace kiln::runtime
