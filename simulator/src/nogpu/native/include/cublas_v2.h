#error "nogpu lacks cublas_v2.h"
