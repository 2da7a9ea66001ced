#pragma once
#include <nogpu_complex.h>
