#error "nogpu lacks cooperative_groups/reduce.h"
