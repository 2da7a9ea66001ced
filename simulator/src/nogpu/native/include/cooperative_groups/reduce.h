#error "the simulator lacks cooperative_groups/reduce.h"
