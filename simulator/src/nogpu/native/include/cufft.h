#error "nogpu lacks cufft.h"
