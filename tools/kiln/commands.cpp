// tools/kiln/commands.cpp -- the table of subcommands.
#include "tools/kiln/command.h"

namespace kiln::command {

std::span<const Command> commands() {
  static constexpr Command table[] = {
      {"info", "what is installed, found and usable, and why not",
       "usage: kiln info [--json]\n\n"
       "NVRTC, driver, GPUs, CPU and its compiler, kernel cache, environment, and every problem with its cure.\n"
       "The exit status is 1 if there is a problem. What is merely absent, such as a GPU, is a note.\n",
       run_info},
      {"cache", "the kernels on disk: stats, ls, verify, prune, clear",
       "usage: kiln cache stats [--json]            size, owner and state of the cache\n"
       "       kiln cache ls [--json]               every entry, the most recently used first\n"
       "       kiln cache verify [--json]           compares every byte with its checksum; status 1 if one is damaged\n"
       "       kiln cache prune [--limit SIZE]      removes the least recently used entries above SIZE "
       "(KILN_CACHE_LIMIT)\n"
       "                                            and what killed processes left unfinished\n"
       "       kiln cache clear                     removes all entries\n\n"
       "The cache is the directory that programs use: KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln.\n"
       "Nothing here disturbs running programs: at worst they compile a kernel again.\n",
       run_cache},
      {"bundle", "files of precompiled kernels: build, ls, verify, merge, diff",
       "usage: kiln bundle build RECORD... [--arch sm_80,sm_90,...] [--ptx sm_80,...] [--cpu x86-64-v3,aarch64,...]\n"
       "                         [--tuning FILE,...] [--jobs N] [--json] -o BUNDLE\n"
       "                                            compiles what KILN_RECORD=RECORD noted: machine code for GPUs, PTX "
       "for\n"
       "                                            later ones, objects for CPUs. Needs the compilers, and no GPU.\n"
       "                                            FILE: results of tuning from `kiln tune export`. Status 1, and no "
       "file,\n"
       "                                            if nothing is recorded for a target or a kernel does not compile\n"
       "       kiln bundle ls BUNDLE [--json]       every image: name, target, size, resources, compiler, kernel\n"
       "       kiln bundle verify BUNDLE [--json]   compares every byte with its checksum; status 1 if one is damaged\n"
       "       kiln bundle merge BUNDLE... -o BUNDLE [--json]\n"
       "                                            all kernels and tuned launches in one; status 1, and no file, if "
       "two\n"
       "                                            hold different images under one name\n"
       "       kiln bundle diff OLD NEW [--json]    what was added, removed and changed; status 1 if anything was\n\n"
       "Files that cannot be read or are damaged give status 1, words that make no sense status 2.\n",
       run_bundle},
      {"tune", "tunes the kernels of a recorded program; its results: ls, export, import, forget",
       "usage: kiln tune TRACE [--again]             measures the kernels that a program run with KILN_RECORD=TRACE\n"
       "                                            noted in TRACE.tuning/, and keeps what is fastest\n"
       "       kiln tune ls [--json]                 every result: times, gain, schedule\n"
       "       kiln tune export [--output FILE]      the results as text, one line each\n"
       "       kiln tune import FILE...              takes such lines: those of other machines, too\n"
       "       kiln tune forget [--device NAME]      removes results, so that kernels are tuned again\n\n"
       "Programs also tune their kernels while they run (KILN_TUNE). Results are kept beside the cache. Lines may be\n"
       "sorted, mixed and doubled; of several for one kernel, size and device the newest counts.\n",
       run_tune},
  };
  return table;
}

}  // namespace kiln::command
