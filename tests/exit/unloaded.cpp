// tests/exit/unloaded.cpp -- a plugin that uses kiln is unloaded while kiln works in the background (D01).
//
// usage: unloaded PLUGIN; status 0 is expected. The plugin is exit_plugin.cpp, the driver the tests' own.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  ::alarm(60);
  for (int round = 0; round < 3; ++round) {
    void* const plugin = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
      std::fprintf(stderr, "%s\n", ::dlerror());
      return 3;
    }
    reinterpret_cast<void (*)()>(::dlsym(plugin, "compute"))();
    if (::dlclose(plugin) != 0) return 4;
    ::usleep(60'000);  // the background thread goes on
  }
  return 0;
}
