// runtime/cpu/jit/compiler.cpp -- LLVM IR text to a flat image: parse, verify, optimise, generate code, link.
#include <csetjmp>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include "runtime/cpu/jit/image.h"
#include "runtime/cpu/jit/kiln_cpu.h"
#include "runtime/cpu/jit/target.h"

struct kiln_cpu_result {
  std::string error;
  bool out_of_memory = false;
  std::string assembly;
  std::vector<char> image;
};

namespace kiln::cpu_jit {
namespace {

/// Where a fatal error of LLVM on this thread returns to. Objects of the failed compile are leaked: LLVM is built
/// without exceptions and would otherwise end the process.
struct Escape {
  std::jmp_buf point;
  char text[1024] = {};
  bool out_of_memory = false;
  int exceptions_outside = std::uncaught_exceptions();
};
thread_local Escape* current_escape = nullptr;

/// Owns an object of LLVM, and leaks it where std::bad_alloc passes: what it interrupts inside of LLVM stays half
/// changed, and a destructor would free parts of that twice.
struct UnlessThrown {
  template <class T>
  void operator()(T* object) const {
    if (std::uncaught_exceptions() == current_escape->exceptions_outside) delete object;
  }
};
template <class T>
using Owned = std::unique_ptr<T, UnlessThrown>;
template <class T, class... Arguments>
Owned<T> make_owned(Arguments&&... arguments) {
  return Owned<T>(new T(std::forward<Arguments>(arguments)...));
}

[[noreturn]] void escape_with(const char* reason, bool out_of_memory) {
  Escape* escape = current_escape;
  if (!escape) std::abort();
  escape->out_of_memory = out_of_memory;
  std::size_t n = 0;
  for (; reason[n] && n + 1 < sizeof escape->text; ++n) escape->text[n] = reason[n];
  escape->text[n] = 0;
  std::longjmp(escape->point, 1);
}
void on_fatal_error(void*, const char* reason, bool) { escape_with(reason, false); }
void on_no_memory(void*, const char* reason, bool) { escape_with(reason, true); }

/// Both families, for bundles are built on any machine.
void initialize_backends() {
#ifdef KILN_CPU_X86
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
#endif
#ifdef KILN_CPU_AARCH64
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
#endif
}

void initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_no_memory);
    initialize_backends();
  });
}

/// Keeps errors as text; the default handler prints and exits.
class CollectDiagnostics : public llvm::DiagnosticHandler {
 public:
  explicit CollectDiagnostics(std::string& text) : text_(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(text_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    stream << '\n';
    return true;
  }

 private:
  std::string& text_;
};

Owned<llvm::TargetMachine> make_target(const TargetDescription& description, std::string& error) {
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(description.triple, error);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // the text says fma where it means it
#if LLVM_VERSION_MAJOR >= 18
  constexpr auto level = llvm::CodeGenOptLevel::Default;
#else
  constexpr auto level = llvm::CodeGenOpt::Default;
#endif
  return Owned<llvm::TargetMachine>(target->createTargetMachine(description.triple, description.cpu,
                                                                description.features, options, llvm::Reloc::PIC_,
                                                                llvm::CodeModel::Small, level));
}

/// What passes of the new pass manager need; all of it refers to the rest.
struct Passes {
  explicit Passes(llvm::TargetMachine& machine) : builder(&machine) {
    // Registered before the builder's defaults: no C library function may be assumed to exist.
    functions.registerPass([&] {
      llvm::TargetLibraryInfoImpl none(machine.getTargetTriple());
      none.disableAllFunctions();
      return llvm::TargetLibraryAnalysis(none);
    });
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  llvm::FunctionPassManager of_functions;
  llvm::ModulePassManager of_module;
};

/// The few passes that straight vector code profits from; the full pipelines cost twice the time for the same code.
void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  const Owned<Passes> passes = make_owned<Passes>(machine);
  llvm::FunctionPassManager& of_functions = passes->of_functions;
  of_functions.addPass(llvm::PromotePass());  // accumulators of reductions are written as variables
  of_functions.addPass(llvm::EarlyCSEPass(true));
  of_functions.addPass(llvm::InstCombinePass());
  of_functions.addPass(llvm::SimplifyCFGPass());
  of_functions.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  of_functions.addPass(llvm::EarlyCSEPass());
  passes->of_module.addPass(llvm::AlwaysInlinerPass(false));
  passes->of_module.addPass(llvm::GlobalDCEPass());
  passes->of_module.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(of_functions)));
  passes->of_module.run(module, passes->modules);
}

bool generate(llvm::Module& module, llvm::TargetMachine& machine, bool assembly, llvm::SmallVectorImpl<char>& out) {
#if LLVM_VERSION_MAJOR >= 18
  const auto kind = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
#else
  const auto kind = assembly ? llvm::CGFT_AssemblyFile : llvm::CGFT_ObjectFile;
#endif
  const auto stream = make_owned<llvm::raw_svector_ostream>(out);  // the passes write to it even as they end
  const auto passes = make_owned<llvm::legacy::PassManager>();
  if (machine.addPassesToEmitFile(*passes, *stream, nullptr, kind)) return false;
  passes->run(module);
  return true;
}

void set_attributes(llvm::Module& module, const TargetDescription& description) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", description.cpu);
    function.addFnAttr("target-features", description.features);
  }
}

/// Parses and optimises; null with `error` filled when the text is wrong.
Owned<llvm::Module> read_module(const kiln_cpu_request& request, llvm::LLVMContext& context, std::string& error) {
  llvm::SMDiagnostic diagnostic;
  const llvm::MemoryBufferRef text(llvm::StringRef(request.text, request.text_size), request.entry);
  Owned<llvm::Module> module(llvm::parseAssembly(text, diagnostic, context).release());
  llvm::raw_string_ostream stream(error);
  if (!module) {
    diagnostic.print(nullptr, stream, false);
    return nullptr;
  }
  if (llvm::verifyModule(*module, &stream)) return nullptr;
  return module;
}

void compile(const kiln_cpu_request& request, kiln_cpu_result& result) {
  const TargetDescription description = describe_target(request.arch);
  if (!description.error.empty()) {
    result.error = description.error;
    return;
  }
  const auto context = make_owned<llvm::LLVMContext>();
  context->setDiagnosticHandler(std::make_unique<CollectDiagnostics>(result.error));
  const Owned<llvm::Module> module = read_module(request, *context, result.error);
  if (!module) return;
  const Owned<llvm::TargetMachine> machine = make_target(description, result.error);
  if (!machine) return;
  module->setTargetTriple(description.triple);
  module->setDataLayout(machine->createDataLayout());
  set_attributes(*module, description);
  optimise(*module, *machine);
  if (request.want_assembly) {
    const Owned<llvm::Module> copy(llvm::CloneModule(*module).release());
    const auto text = make_owned<llvm::SmallVector<char, 0>>();
    if (generate(*copy, *machine, true, *text)) result.assembly.assign(text->begin(), text->end());
  }
  const auto object = make_owned<llvm::SmallVector<char, 0>>();
  if (!generate(*module, *machine, false, *object)) {
    result.error = "this LLVM cannot write object files for " + description.triple;
    return;
  }
  if (!result.error.empty()) return;
  result.error = link_image({object->data(), object->size()}, request.entry, result.image);
}

/// Runs compile() so that a fatal error of LLVM lands here.
void compile_guarded(const kiln_cpu_request& request, kiln_cpu_result& result) {
  Escape escape;
  current_escape = &escape;
  if (setjmp(escape.point) == 0) {
    try {
      result.error.reserve(sizeof escape.text);  // for what is said where there is no memory
      compile(request, result);
    } catch (const std::bad_alloc&) {
      result.error = "std::bad_alloc";
      result.out_of_memory = true;
    }
  } else {
    result.error = escape.text;
    result.out_of_memory = escape.out_of_memory;
  }
  current_escape = nullptr;
}

}  // namespace
}  // namespace kiln::cpu_jit

#define KILN_EXPORT extern "C" __attribute__((visibility("default")))

KILN_EXPORT int kiln_cpu_interface(void) { return KILN_CPU_INTERFACE; }
KILN_EXPORT const char* kiln_cpu_version(void) { return "LLVM " LLVM_VERSION_STRING; }

KILN_EXPORT kiln_cpu_result* kiln_cpu_compile(const kiln_cpu_request* request) {
  auto* const result = new (std::nothrow) kiln_cpu_result;
  if (!result) return nullptr;
  kiln::cpu_jit::initialise();
  kiln::cpu_jit::compile_guarded(*request, *result);
  return result;
}

KILN_EXPORT const char* kiln_cpu_error(const kiln_cpu_result* result) {
  return result->error.empty() ? nullptr : result->error.c_str();
}
KILN_EXPORT int kiln_cpu_out_of_memory(const kiln_cpu_result* result) { return result->out_of_memory; }
KILN_EXPORT const void* kiln_cpu_image(const kiln_cpu_result* result, size_t* size) {
  *size = result->image.size();
  return result->image.data();
}
KILN_EXPORT const char* kiln_cpu_assembly(const kiln_cpu_result* result) { return result->assembly.c_str(); }
KILN_EXPORT void kiln_cpu_release(kiln_cpu_result* result) { delete result; }
