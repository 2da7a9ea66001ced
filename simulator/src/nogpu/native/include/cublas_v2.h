#error "the simulator lacks cublas_v2.h"
