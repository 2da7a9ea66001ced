#error "the simulator lacks cufft.h"
