// What kernels take from this header: tuples.
#pragma once
#include <nogpu_std.h>
