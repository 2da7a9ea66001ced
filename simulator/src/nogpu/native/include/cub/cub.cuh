#error "the simulator lacks cub/cub.cuh"
