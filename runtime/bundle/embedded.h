// runtime/bundle/embedded.h -- the bundles that kiln_embed_bundle() put into programs and libraries of this process.
#pragma once

#include <kiln/embed.h>

namespace kiln::runtime {

/// The most recently registered one; the others follow by `next`. Null if there is none. A list changes only at its
/// head, when a library with a bundle is loaded. May be called at any time, also before main().
const kiln_embedded_bundle* embedded_bundles() noexcept;

}  // namespace kiln::runtime
