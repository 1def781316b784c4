// codegen/ir/function.h -- what a `call` node of a graph calls: a function of the user's, given as CUDA text, or a
// loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <kiln/dtype.h>

namespace kiln::codegen {

struct Loop;  // codegen/ir/loop.h

/// How CPU kernels call the host version. They pass its address as an argument, so that no binary and no cache key
/// holds it. `thunk` computes `count` results: the results lie at `block`, argument k at `block + (k + 1) * stride`.
struct HostCall {
  using Thunk = void (*)(const void* context, unsigned char* block, std::int64_t stride, std::int64_t count);
  Thunk thunk = nullptr;  ///< null: there is no host version
  const void* context = nullptr;
  friend bool operator==(const HostCall&, const HostCall&) = default;
};

/// Types are b1, integers, f32, f64, c64 and c128; the result may also be f16 or bf16, for which the text returns
/// float.
struct Function : std::enable_shared_from_this<Function> {
  std::string name;
  std::vector<std::string> parameter_names;
  std::vector<DType> parameters;  ///< 1 to NodeOperands::limit
  DType result = DType::f32;
  std::string text;      ///< statements that return the result; of a loop what tells it from others
  std::string preamble;  ///< declarations before the function, in a namespace with it
  HostCall host;
  std::shared_ptr<const Loop> loop;  ///< the function is this loop, and its result the state `component`
  unsigned component = 0;
  struct {
    const char* file = nullptr;
    unsigned line = 0;
  } where;                            ///< of the text, for messages; of equal functions that of the first
  std::shared_ptr<const void> owner;  ///< keeps `host.context` alive
};

/// The same signature and texts: one function in CUDA source.
bool same_text(const Function& a, const Function& b);
/// Of what same_text compares.
std::uint64_t text_hash(const Function& function);

/// Name of the function that a loop becomes in generated source: the same for all of its states.
std::string loop_name(const Function& function);

/// "float smooth(f32 a, f32 b)".
std::string signature_text(const Function& function);

/// Name of the namespace that holds the function in CUDA source: a function of its signature and texts.
std::string cuda_namespace(const Function& function);

}  // namespace kiln::codegen
