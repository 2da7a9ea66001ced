"""cupyx.profiler and the marks for tools."""

import cupy as cp
from cupyx.profiler import benchmark, profile, time_range


def shapes_of_times():
    """cpu_times is (n,), gpu_times (devices, n), in seconds."""
    result = benchmark(lambda x: x + 1, (cp.zeros(10),), n_repeat=5, n_warmup=1)
    print(result.cpu_times.shape, result.gpu_times.shape, bool((result.gpu_times < 1).all()))
    print(type(result.gpu_times).__module__, result.gpu_times.dtype)


def number_of_calls():
    """The function is called n_warmup + n_repeat times."""
    calls = []
    benchmark(calls.append, (1,), n_repeat=4, n_warmup=3)
    print(len(calls))


def text_of_a_result():
    """str begins with the name, padded, and has a CPU and a GPU part."""
    text = str(benchmark(lambda: None, n_repeat=3, n_warmup=0, name="nothing"))
    print(text.startswith("nothing             :    CPU:"), "GPU-0:" in text, "us" in text)


def name_of_a_result():
    """name defaults to the function's own."""
    def work():
        pass

    print(benchmark(work, n_repeat=1).name, benchmark(lambda: None, n_repeat=1).name)


def keyword_arguments():
    """kwargs are passed on."""
    seen = []
    benchmark(lambda **kw: seen.append(kw), (), {"a": 1}, n_repeat=1, n_warmup=0)
    print(seen)


def arguments_must_be_a_tuple():
    """args in a list are a ValueError."""
    benchmark(lambda x: x, [1], n_repeat=1)


def repeat_must_be_an_integer():
    """A float n_repeat is a ValueError."""
    benchmark(lambda: None, n_repeat=1.5)


def function_must_be_callable():
    """What cannot be called is a ValueError."""
    benchmark(3, n_repeat=1, name="three")


def max_duration_stops():
    """max_duration ends the repeats early."""
    import time

    result = benchmark(time.sleep, (0.05,), n_repeat=1000, n_warmup=0, max_duration=0.12)
    print(result.cpu_times.size < 10)


def time_range_context():
    """time_range is a context manager and a decorator."""
    with time_range("step", color_id=1):
        print("inside")

    @time_range()
    def work():
        return 5

    print(work())


def profile_context():
    """profile() starts and stops the profiler around a block."""
    with profile():
        print("inside")


def show_config_says_versions():
    """show_config prints the versions of what is in use."""
    import contextlib
    import io

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        cp.show_config()
    print([key for key in ("CuPy Version", "NumPy Version", "Device 0 Name", "CUDA Runtime")
           if key in text.getvalue()])


def show_config_fully():
    """show_config(_full=True) has the libraries, too."""
    import contextlib
    import io

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        cp.show_config(_full=True)
    print("cuBLAS Version" in text.getvalue())
