// kiln/device.h -- devices, streams, events, and the guards that make them current.
#pragma once

#include <utility>

#include <kiln/detail/bridge.h>

namespace kiln {

enum class DeviceKind : std::uint8_t { cpu, cuda };

/// A device by kind and number; it need not exist here.
class Device {
 public:
  static constexpr Device cpu() { return {DeviceKind::cpu, 0}; }
  static constexpr Device cuda(int index = 0) { return {DeviceKind::cuda, index}; }
  /// Where new arrays of this thread go: KILN_DEVICE, else the first GPU, else the CPU; changed by DeviceGuard.
  static Device current() {
    int kind = 0, index = 0;
    detail::current_device(kind, index);
    return {static_cast<DeviceKind>(kind), index};
  }

  constexpr DeviceKind kind() const { return kind_; }
  constexpr int index() const { return index_; }
  /// Why it cannot be used here and what to do; empty when it can.
  const char* unavailable_reason() const { return detail::device_unavailable_reason(kind_number(), index_); }
  bool is_available() const { return detail::device_available(kind_number(), index_); }
  const char* name() const { return detail::device_name(kind_number(), index_); }
  /// "sm_90", or the CPU's instruction set.
  const char* arch() const { return detail::device_arch(kind_number(), index_); }
  friend constexpr bool operator==(const Device&, const Device&) = default;

  constexpr Device(DeviceKind kind, int index) : kind_(kind), index_(index) {}
  template <class X>
    requires(std::is_convertible_v<const X&, const char*> && std::is_array_v<X>)
  constexpr Device(const X&) : Device(cpu()) {
    static_assert(detail::no_dtype<X>::value, "kiln: devices are kl::Device::cpu() and kl::Device::cuda(0), not texts");
  }
  constexpr int kind_number() const { return static_cast<int>(kind_); }

 private:
  DeviceKind kind_;
  int index_;
};

/// The devices that exist here; the CPU comes first.
class DeviceList {
 public:
  class Iterator {
   public:
    explicit Iterator(int i) : i_(i) {}
    Device operator*() const {
      int kind = 0, index = 0;
      detail::device_at(i_, kind, index);
      return {static_cast<DeviceKind>(kind), index};
    }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    int i_;
  };
  std::size_t size() const { return static_cast<std::size_t>(detail::device_count()); }
  Iterator begin() const { return Iterator(0); }
  Iterator end() const { return Iterator(detail::device_count()); }
  Device operator[](std::size_t i) const { return *Iterator(static_cast<int>(i)); }
};
inline DeviceList devices() { return {}; }

/// Makes a device current on this thread for a scope.
class [[nodiscard]] DeviceGuard {
 public:
  explicit DeviceGuard(Device device, detail::Where w = detail::Where::current()) : previous_(Device::current()) {
    detail::set_current_device(device.kind_number(), device.index(), w);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard() { detail::set_current_device(previous_.kind_number(), previous_.index()); }

 private:
  Device previous_;
};

/// A queue of work on one device. Evaluating, copying and filling enqueue on the current stream of the thread and may
/// return before the work is done; item(), to_host() and synchronize() wait for it. A stream runs its work in order;
/// between streams an Event sets the order.
class Stream {
 public:
  explicit Stream(Device device = Device::current(), detail::Where w = detail::Where::current())
      : device_(device), native_(detail::create_stream(device.kind_number(), device.index(), w)), owned_(true) {}
  /// A stream of the host program (a CUstream); kiln never destroys it.
  static Stream wrap(void* native_handle, Device device = Device::current()) { return {native_handle, device}; }
  /// The stream that this thread's work on the device goes to.
  static Stream current(Device device = Device::current()) {
    return {detail::current_stream(device.kind_number(), device.index()), device};
  }
  Stream(Stream&& other) noexcept : device_(other.device_), native_(other.native_), owned_(other.owned_) {
    other.owned_ = false;
  }
  Stream& operator=(Stream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(native_, other.native_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~Stream() {
    if (owned_) detail::destroy_stream(device_.kind_number(), device_.index(), native_);
  }

  void synchronize() const { detail::synchronize_stream(device_.kind_number(), device_.index(), native_); }
  Device device() const { return device_; }
  void* native_handle() const { return native_; }

 private:
  Stream(void* native, Device device) : device_(device), native_(native), owned_(false) {}
  Device device_;
  void* native_;
  bool owned_;
};

/// Sends this thread's work on the stream's device to the stream for a scope.
class [[nodiscard]] StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream)
      : device_(stream.device()),
        previous_(detail::current_stream(device_.kind_number(), device_.index())),
        previous_device_(Device::current()) {
    detail::set_current_stream(device_.kind_number(), device_.index(), stream.native_handle());
    if (!(previous_device_ == device_)) detail::set_current_device(device_.kind_number(), device_.index());
  }
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;
  ~StreamGuard() {
    detail::set_current_stream(device_.kind_number(), device_.index(), previous_);
    if (!(previous_device_ == device_)) {
      detail::set_current_device(previous_device_.kind_number(), previous_device_.index());
    }
  }

 private:
  Device device_;
  void* previous_;
  Device previous_device_;
};

/// A point in a stream's work.
class Event {
 public:
  explicit Event(Device device = Device::current(), detail::Where w = detail::Where::current())
      : device_(device), native_(detail::create_event(device.kind_number(), device.index(), w)) {}
  Event(Event&& other) noexcept : device_(other.device_), native_(other.native_) { other.native_ = nullptr; }
  Event& operator=(Event&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(native_, other.native_);
    return *this;
  }
  ~Event() {
    if (native_) detail::destroy_event(device_.kind_number(), device_.index(), native_);
  }

  /// Marks the work enqueued so far.
  void record() { record(Stream::current(device_)); }
  void record(const Stream& stream) {
    detail::record_event(device_.kind_number(), device_.index(), native_, stream.native_handle());
  }
  /// Later work of the stream waits for this point.
  void wait() const { wait(Stream::current(device_)); }
  void wait(const Stream& stream) const {
    detail::wait_event(device_.kind_number(), device_.index(), stream.native_handle(), native_);
  }
  void synchronize() const { detail::synchronize_event(device_.kind_number(), device_.index(), native_); }
  /// Milliseconds from `begin` to `end`; both must be recorded and done.
  static float elapsed(const Event& begin, const Event& end) {
    return detail::elapsed_ms(begin.device_.kind_number(), begin.device_.index(), begin.native_, end.native_);
  }
  void* native_handle() const { return native_; }

 private:
  Device device_;
  void* native_;
};

/// Waits for all work that kiln has enqueued on the current device.
inline void synchronize() {
  const Device device = Device::current();
  detail::synchronize_device(device.kind_number(), device.index());
}

}  // namespace kiln
