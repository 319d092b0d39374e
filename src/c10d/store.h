// The shared store of a run on torch's TCPStore.
#pragma once

#include <memory>

#include "bench/shared_store.h"

namespace lenbench {

// Throws Error(kNotMeasured) when the port is taken, or the process that holds the store does not come up in time.
std::unique_ptr<SharedStore> connect_store(const StoreAddress& address);

}  // namespace lenbench
