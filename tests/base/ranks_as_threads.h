// Included by tests whose ranks are threads of one process.
#pragma once

#include <cstdlib>

namespace lenbench {

// LibTorch 2.11's flight recorder enters each process group into a map of the whole process without a lock
// (FlightRecorder::record), which two ranks of one process do at once; a buffer of no entries turns it off. Set before
// main, when no other thread reads the environment.
inline const bool kFlightRecorderOff = setenv("TORCH_FR_BUFFER_SIZE", "0", 1) == 0;

}  // namespace lenbench
