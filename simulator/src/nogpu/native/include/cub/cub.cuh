#error "nogpu lacks cub/cub.cuh"
