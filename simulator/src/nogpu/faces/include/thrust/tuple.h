#pragma once
#include <nogpu_std.h>
