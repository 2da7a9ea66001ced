#error "nogpu lacks texture_fetch_functions.h"
