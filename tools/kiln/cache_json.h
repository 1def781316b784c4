// tools/kiln/cache_json.h -- the state of the cache, as `kiln cache stats` and `kiln info` show it.
#pragma once

#include <string>

#include "runtime/tool_cache.h"
#include "tools/kiln/json.h"

namespace kiln::command {

Json cache_json(const tool::CacheState& state);
std::string cache_text(const tool::CacheState& state);

}  // namespace kiln::command
