// runtime/recording.cpp -- what a capture keeps of the launches and of their memory.
#include "runtime/recording.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "support/check.h"

namespace kiln::runtime {

constinit thread_local Recording* recording __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

void retain(Storage& storage) { __atomic_fetch_add(&storage.references, 1L, __ATOMIC_RELAXED); }

void release(Storage* storage) noexcept {
  if (__atomic_fetch_sub(&storage->references, 1L, __ATOMIC_ACQ_REL) == 1L) destroy_storage(storage);
}

bool holds(const Storage& storage, const char* address) {
  const auto first = reinterpret_cast<std::uintptr_t>(storage.memory), at = reinterpret_cast<std::uintptr_t>(address);
  return at >= first && at - first < std::max<std::size_t>(storage.bytes, 1);
}

}  // namespace

char* RecordedLaunch::pointer(const Place& place) const {
  char* address = nullptr;
  std::memcpy(&address, parameters[place.parameter].data() + place.at, sizeof address);
  return address;
}

void RecordedLaunch::set_pointer(const Place& place, char* address) {
  std::memcpy(parameters[place.parameter].data() + place.at, &address, sizeof address);
}

std::vector<void*> RecordedLaunch::addresses() const {
  std::vector<void*> list;
  for (const auto& parameter : parameters) list.push_back(const_cast<unsigned char*>(parameter.data()));
  return list;
}

// ------------------------------------------------------------------ recorded work
RecordedWork::~RecordedWork() {
  for (Storage* const storage : kept_) release(storage);
  for (Storage* const storage : own_) release(storage);
}

void RecordedWork::swap(RecordedWork& other) noexcept {
  launches.swap(other.launches);
  kept_.swap(other.kept_);
  own_.swap(other.own_);
}

bool RecordedWork::keeps(const Storage& storage) const {
  return std::find(kept_.begin(), kept_.end(), &storage) != kept_.end();
}

bool RecordedWork::owns(const Storage& storage) const {
  return std::find(own_.begin(), own_.end(), &storage) != own_.end();
}

void RecordedWork::keep(Storage& storage) {
  if (keeps(storage) || owns(storage)) return;
  kept_.push_back(&storage);
  retain(storage);
}

void RecordedWork::drop_unused() {
  const auto is_used = [&](const Storage* storage) {
    for (const RecordedLaunch& launch : launches)
      for (const RecordedLaunch::Place& place : launch.pointers)
        if (holds(*storage, launch.pointer(place))) return true;
    return false;
  };
  const auto unused = std::stable_partition(kept_.begin(), kept_.end(), is_used);
  const std::vector<Storage*> dropped(unused, kept_.end());
  kept_.erase(unused, kept_.end());
  for (Storage* const storage : dropped) release(storage);
}

// ------------------------------------------------------------------ recording
Recording::Recording(Backend& backend, NativeStream stream)
    : backend_(backend), graphs_(backend.graphs()), stream_(stream) {
  if (recording) fail<DeviceError>("kl::capture inside kl::capture: this thread records already; captures do not nest");
  if (graphs_) graphs_->begin(stream);
  active_ = true;
  recording = this;
}

void Recording::end() noexcept {
  active_ = false;
  recording = nullptr;
  for (Storage* const storage : std::exchange(deferred_, {})) destroy_storage(storage);
}

Recording::~Recording() {
  if (!active_) return;
  if (graphs_) graphs_->abandon(stream_);
  end();
}

RecordedWork Recording::finish(void*& graph) {
  graph = nullptr;
  if (graphs_) {
    try {
      graph = graphs_->end(stream_);
    } catch (...) {
      end();
      throw;
    }
  }
  end();
  if (failure_) {
    if (graph) graphs_->destroy_graph(std::exchange(graph, nullptr));
    std::rethrow_exception(failure_);
  }
  return std::move(work_);
}

bool Recording::takes(Backend& backend, NativeStream stream) const {
  if (&backend != &backend_) return false;
  return !graphs_ || stream == stream_ || backend_.is_capturing(stream);
}

void Recording::launch(Backend& backend, RecordedLaunch launch, NativeStream stream) {
  if (graphs_) {
    backend.launch(*launch.kernel, launch.shape, launch.addresses().data(), stream);
    launch.node = graphs_->last_node(stream);
  }
  work_.launches.push_back(std::move(launch));
}

Storage* Recording::allocate(Backend& backend, DeviceId device, std::size_t bytes, NativeStream stream) {
  for (const Own& own : own_) {
    const bool is_idle = __atomic_load_n(&own.storage->references, __ATOMIC_ACQUIRE) == 1L;
    if (!is_idle || own.stream != stream || own.storage->bytes < bytes || own.storage->bytes / 2 > bytes) continue;
    retain(*own.storage);
    return own.storage;
  }
  auto storage = std::make_unique<Storage>();
  storage->memory = graphs_ ? graphs_->allocate(bytes ? bytes : 1) : backend.allocate(bytes ? bytes : 1, stream);
  storage->bytes = bytes;
  storage->device = device;
  storage->backend = &backend;
  storage->stream = graphs_ ? graphs_->memory_stream() : nullptr;
  work_.own_.push_back(storage.get());  // with the first reference
  own_.push_back({storage.get(), stream});
  retain(*storage);
  return storage.release();
}

void* Recording::counters(Backend& backend, std::uint32_t count, NativeStream stream) {
  for (const Counters& counters : counters_)
    if (counters.stream == stream && counters.count >= count) return counters.memory;
  auto storage = std::make_unique<Storage>();
  storage->bytes = std::size_t{count} * sizeof(std::uint32_t);
  storage->memory = graphs_ ? graphs_->zeros(storage->bytes) : backend.zeroed_counters(count, stream).memory;
  storage->device = backend.info().id;
  storage->backend = &backend;
  storage->stream = graphs_ ? graphs_->memory_stream() : nullptr;
  counters_.push_back({stream, storage->memory, count});
  work_.own_.push_back(storage.release());
  return counters_.back().memory;
}

}  // namespace kiln::runtime
