#error "the simulator lacks cooperative_groups.h"
