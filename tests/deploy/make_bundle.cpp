// tests/deploy/make_bundle.cpp -- writes small bundles for tests.
//
// make_bundle --tuning NAME DEVICE MULTIPROCESSORS: prints a line as `kiln tune export` does.
// make_bundle OUT [NAME:TARGET[:VARIANT]]... [=DEVICE:MULTIPROCESSORS:RECORD]...
// Images begin like real ones and say what they are; VARIANT changes image and registers, and nothing else, but
// "foreign" makes an image that is none.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/choose.h"
#include "runtime/cpu/jit/kiln_cpu.h"
#include "runtime/tuning_record.h"
#include "support/check.h"

namespace {

namespace rt = kiln::runtime;

std::vector<std::string> parts_of(const std::string& word) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t end = std::min(word.find(':', at), word.size());
    parts.push_back(word.substr(at, end - at));
    at = end + 1;
  }
  parts.resize(3);
  return parts;
}

/// As much of an ELF header as tells that it is a cubin.
std::string cubin(const std::string& text) {
  std::string header =
      "\x7f"
      "ELF\x02\x01\x01";
  header.resize(18, '\0');
  header += static_cast<char>(190);
  header += '\0';
  return header + text;
}

std::string cpu_image(const std::string& text) {
  kiln_cpu_image_header header = {};
  header.magic = KILN_CPU_MAGIC;
  header.size = sizeof header + text.size();
  header.entry = sizeof header;
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + text;
}

std::string image_of(const std::vector<std::string>& parts, rt::ImageKind kind) {
  const std::string text = parts[2] == "foreign" ? "" : parts[0] + " for " + parts[1] + " " + parts[2];
  if (text.empty()) return std::string("what no compiler made") + '\0';
  if (kind == rt::ImageKind::ptx) return ".version 8.0\n.target sm_80\n// " + text + '\0';
  return kind == rt::ImageKind::cubin ? cubin(text) : cpu_image(text);
}

void add_kernel(rt::BundleWriter& writer, const std::string& word) {
  const std::vector<std::string> parts = parts_of(word);
  const auto kind = rt::kind_of_target(parts[1]);
  if (!kind) kiln::fail<kiln::IoError>("{} is no target", parts[1]);
  rt::BundleKernel kernel;
  const std::string title = parts[0] + " f32[n]";
  kernel.identity = kiln::blake3(parts[0]);
  kernel.target = parts[1];
  kernel.kind = *kind;
  kernel.identity_version = 1;
  kernel.entry = "kiln_kernel";
  kernel.title = title;
  kernel.options = "contract";
  kernel.compiler = *kind == rt::ImageKind::object ? "LLVM 19.1.7" : "NVRTC 13.0";
  if (*kind == rt::ImageKind::cubin) {
    kernel.registers = 32 + static_cast<int>(parts[2].size());
    kernel.spill_bytes = 0;
  }
  writer.add(kernel, image_of(parts, *kind));
}

}  // namespace

namespace {

int print_tuning(char** words) {
  rt::TuningRecord record;
  record.key.kernel = kiln::to_hex(kiln::blake3(words[0]));
  record.key.size = 25;
  record.key.device = words[1];
  record.key.multiprocessors = std::atoi(words[2]);
  record.choice = "block=512 vector=4";
  record.heuristic = "block=256 vector=4";
  record.choice_us = 101.25;
  record.heuristic_us = 110.5;
  record.runs = 160;
  record.date = 1764576000;
  record.name = words[0];
  std::printf("%s", rt::to_line(record).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc == 5 && std::string(argv[1]) == "--tuning") return print_tuning(argv + 2);
  try {
    rt::BundleWriter writer;
    for (int i = 2; i < argc; ++i) {
      const std::string word = argv[i];
      if (word[0] != '=') {
        add_kernel(writer, word);
        continue;
      }
      const std::vector<std::string> parts = parts_of(word.substr(1));
      writer.add(rt::BundleTuning{parts[0], std::atoi(parts[1].c_str()), parts[2]});
    }
    writer.write(argv[1]);
    return 0;
  } catch (const kiln::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
