#error "nogpu lacks cuda_pipeline.h"
