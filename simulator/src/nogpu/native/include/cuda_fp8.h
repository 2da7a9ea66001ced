#error "the simulator lacks cuda_fp8.h"
