#error "nogpu lacks cooperative_groups.h"
