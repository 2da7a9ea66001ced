#error "the simulator lacks mma.h"
