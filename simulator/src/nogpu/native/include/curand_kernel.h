#error "nogpu lacks curand_kernel.h"
