#error "the simulator lacks curand_kernel.h"
