#error "the simulator lacks cuda_pipeline.h"
