#error "nogpu lacks mma.h"
