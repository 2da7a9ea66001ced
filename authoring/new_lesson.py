"""What a new lesson begins with: a lesson, one task, its check and the proofs of that check.

`python -m authoring new` fills in number, title and file. The tests of form accept it as it
is, once the README and the lesson before it name it.
"""

LESSON = (
    ("md", "title", "# {number} {title}\n\n{badges}\n\n**30 minutes.** You need"
     " [lesson 06](06_first_kernels.ipynb).\n\nAfter this lesson you can\n\n- say what ...;"
     "\n- do ..."),
    ("code", "setup", ""),
    ("md", "question", "## The question\n\nWhat will the learner want to know?"),
    ("code", "imports", "import numpy as np\n\nx = np.arange(3)"),
    ("md", "predict", "**Predict** what the next cell prints."),
    ("code", "answer", "print(x + x)"),
    ("md", "why", "Why it does, in two sentences."),
    ("code", "shown", "print((x + x).nbytes)"),
    ("md", "key", "## Key points\n\n- One sentence for each thing learnt."),
    ("md", "self-test", "## Self-test\n\n" + "\n\n".join(
        f"{k}. Question?\n\n<details><summary>Answer</summary>\n\nAnswer.\n\n</details>"
        for k in range(1, 6)) + "\n\n**Exercises:** [exercises/{file}](../exercises/{file})."),
)
SOLUTION = (
    ("md", "title", "# {number} {title}: exercises\n\n{badges}\n\nOne task to"
     " [lesson {number}](../notebooks/{file})."),
    ("code", "setup", ""),
    ("code", "imports", "from checks import lesson{number}"),
    ("md", "doubled-text", "## 1. Twice as much ★ (core, 5 minutes)\n\nWrite `doubled(x)`:\n\n"
     "```python\nx + x\n```\n\n<details><summary>Hint</summary>\n\nA product.\n\n</details>"),
    ("solution", "doubled", "def doubled(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n"
     "    ### END SOLUTION"),
    ("check", "doubled-check", "lesson{number}.doubled(doubled)"),
)
CHECK = '''"""The task of lesson {number}."""

import numpy as np

from .task import Mistake, Task


def _cases():
    rng = np.random.default_rng({seed})
    for shape, dtype in (((3, 5), np.float32), ((7,), np.int64), ((0, 2), np.float64)):
        yield ((10 * rng.standard_normal(shape) + 100).astype(dtype),)


doubled = Task(
    name="doubled",
    spec=lambda x: x + x,
    cases=_cases,
    mistakes=[
        Mistake("a square", lambda x: x * x),
        Mistake("the argument itself", lambda x: x),
    ],
)
'''
ANSWERS = '''"""Other right answers to lesson {number}, and wrong ones that are no known mistake."""

RIGHT = {{"doubled": [lambda x: x - (-x)]}}
WRONG = {{"doubled": [(lambda x: 0, "expected")]}}
'''
PROOFS = '''"""The checks of lesson {number}, proven."""

from check_cases import proofs_of

globals().update(proofs_of("lesson{number}"))
'''
