#error "the simulator lacks cuda_bf16.h"
