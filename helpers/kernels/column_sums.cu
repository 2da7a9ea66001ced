// The sum of each column of x (rows, columns): what an addition rounds away is added to the next
// term (W. Kahan, doi 10.1145/363707.363723). A thread for each column; launch: any block.
extern "C" __global__ void column_sums(const float* x, float* y, int rows, int columns) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < columns) {
        float sum = 0, lost = 0;
        for (int i = 0; i < rows; i++) {
            float term = x[i * columns + j] + lost, total = sum + term;
            lost = term - (total - sum);
            sum = total;
        }
        y[j] = sum;
    }
}
