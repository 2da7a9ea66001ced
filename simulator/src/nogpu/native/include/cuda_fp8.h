#error "nogpu lacks cuda_fp8.h"
