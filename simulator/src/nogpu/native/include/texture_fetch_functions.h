#error "the simulator lacks texture_fetch_functions.h"
