// The engine's native half, one translation unit: memory, shadow, fibres, hooks, workers,
// streams.
#include "random.h"
#include "streams.h"
