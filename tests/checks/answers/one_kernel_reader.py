"""Other right answers to "One kernel reader", and wrong answers that are no known mistake."""

RIGHT = {"doubled": [lambda x: x - (-x)], "twice": [lambda x: 2 * x, lambda x: x - (-x)]}
WRONG = {name: [(lambda x: 0, "expected")] for name in RIGHT}
