#pragma once
#include <nogpu_cub.h>
