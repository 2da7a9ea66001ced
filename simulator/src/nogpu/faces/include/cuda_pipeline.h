#pragma once
#include <nogpu_async.h>
