#error "nogpu lacks cuda_bf16.h"
