// kiln/profile.h -- kl::profile: which kernels and copies ran, how often, how long, at how many bytes per second.
#pragma once

#include <kiln/inspect.h>

namespace kiln {

struct ProfileOptions {
  /// Counts what all threads of the process enqueue; else what the thread does that started the profile.
  bool all_threads = false;
  /// kl::profile(body) prints the table to stdout.
  bool print = true;
};

/// All launches of one kernel for one expression, or all copies of one kind at one place, on one device. Times are in
/// milliseconds.
struct ProfileRow {
  enum class Kind : std::uint8_t { kernel, raw_kernel, graph, copy };
  Kind kind = Kind::kernel;
  Text name;    ///< the kernel's entry point, or "copy from host", "copy to host", "copy", "copy from another device"
  Text label;   ///< "softmax (model.cpp:12)": the name given to kl::jit and the place; of copies "(model.cpp:12)"
  Text device;  ///< "cuda:0", "cpu"
  std::int64_t count = 0;
  std::int64_t captured = 0;  ///< of `count`, launches recorded into a CUDA graph: they have no time of their own
  /// Between two events around each launch on its stream: a kernel of a few microseconds seems some two longer than it
  /// is. CPU: by the steady clock.
  double total_ms = 0, mean_ms = 0, shortest_ms = 0, longest_ms = 0;
  double host_ms = 0;      ///< total time of the calls that enqueued it
  double share = 0;        ///< of the profile's time on devices, 0 to 1
  std::int64_t bytes = 0;  ///< in total; operands read and written once (raw kernels: the arrays given)
  double gigabytes_per_second = 0;
  double of_peak = -1;             ///< of the device's peak memory bandwidth; -1 where that is unknown (CPU)
  double operations_per_byte = 0;  ///< arithmetic operations; functions and joins count one each
};

namespace detail {

/// Made by the library; freed by destroy().
struct Profile {
  const ProfileRow* rows = nullptr;
  unsigned row_count = 0;
  double device_ms = 0, wall_ms = 0, planning_ms = 0;
  std::uint64_t compiles = 0, loaded_from_disk = 0;
  Text table;
};
struct Profiler;

KILN_API Profiler* start_profile(bool all_threads);
/// Waits for the work that was counted.
KILN_API Profile* stop_profile(Profiler*);
KILN_API void destroy(Profiler*) noexcept;
KILN_API void destroy(Profile*) noexcept;
KILN_API void print_to_stdout(const char* text);

}  // namespace detail

/// What ran while a profile was taken, longest total time first. Prints to streams as a table.
class Profile {
 public:
  explicit Profile(detail::Profile* p) : data_(p) {}
  Profile(Profile&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Profile& operator=(Profile&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Profile() {
    if (data_) detail::destroy(data_);
  }

  std::size_t size() const { return data_->row_count; }
  const ProfileRow* begin() const { return data_->rows; }
  const ProfileRow* end() const { return data_->rows + data_->row_count; }
  const ProfileRow& operator[](std::size_t i) const { return data_->rows[i]; }
  /// Sum of the rows' times.
  double device_ms() const { return data_->device_ms; }
  /// From the start until everything counted was done.
  double wall_ms() const { return data_->wall_ms; }
  /// Host time of deciding on, generating, compiling and loading kernels: that of first calls.
  double planning_ms() const { return data_->planning_ms; }
  /// Kernels that were compiled, and that came from the disk cache, in the whole process.
  std::uint64_t compiles() const { return data_->compiles; }
  std::uint64_t loaded_from_disk() const { return data_->loaded_from_disk; }
  Text table() const { return data_->table; }

  template <class Stream>
    requires(requires(Stream& s) { s.write("", 0L); })
  friend Stream& operator<<(Stream& stream, const Profile& profile) {
    return stream << profile.table();
  }

 private:
  detail::Profile* data_;
};

/// Takes a profile from construction to stop(). Profiles may be nested and overlap; each counts everything it sees.
/// While none is taken, launches pay one load for it.
class Profiler {
 public:
  explicit Profiler(const ProfileOptions& options = {}) : data_(detail::start_profile(options.all_threads)) {}
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;
  ~Profiler() {
    if (data_) detail::destroy(data_);
  }
  /// Waits until everything counted is done. Once; from any thread. Throws DeviceError where a kernel failed.
  Profile stop() { return Profile(detail::stop_profile(std::exchange(data_, nullptr))); }

 private:
  detail::Profiler* data_;
};

/// Runs `body` and prints which kernels and copies it enqueued, with count, time, bytes per second and share. What body
/// throws passes through, and then nothing is printed.
///
///     kl::profile([&] { y = softmax(x); });
template <class F>
  requires(std::is_invocable_v<F>)
Profile profile(F&& body, const ProfileOptions& options = {}) {
  Profiler profiler(options);
  static_cast<F&&>(body)();
  Profile result = profiler.stop();
  if (options.print) detail::print_to_stdout(result.table().c_str());
  return result;
}

/// The same, printed to `stream`.
template <class Stream, class F>
  requires(std::is_invocable_v<F> && requires(Stream& s) { s.write("", 0L); })
Profile profile(Stream& stream, F&& body, ProfileOptions options = {}) {
  options.print = false;
  Profile result = profile(static_cast<F&&>(body), options);
  stream << result;
  return result;
}

}  // namespace kiln
