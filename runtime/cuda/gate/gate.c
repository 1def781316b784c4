// runtime/cuda/gate/gate.c -- a library whose one function other libraries call before they initialise themselves.
//
// The start files of a linker call __gmon_start__, where a process has one, before the constructors of a library: for
// profilers. This one is among the names that all libraries see, and tells libkiln.so who called.

__attribute__((visibility("default"))) void (*kiln_gate_action)(const void*);
__attribute__((visibility("default"))) void __gmon_start__(void);

void __gmon_start__(void) {
  void (*const action)(const void*) = __atomic_load_n(&kiln_gate_action, __ATOMIC_ACQUIRE);
  if (action) action(__builtin_return_address(0));
}
