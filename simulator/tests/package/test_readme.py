"""What nogpu's README shows is what happens."""

import re

import pytest
from package_support import SIMULATOR, run

import nogpu

README = (SIMULATOR / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)


def block(language, beginning):
    (text,) = (b for kind, b in BLOCKS if kind == language and b.startswith(beginning))
    return text


@pytest.fixture
def total(tmp_path):
    (tmp_path / "total.py").write_text(block("python", "import cupy as cp"))
    return tmp_path / "total.py"


def test_the_example_prints_what_the_readme_shows(total):
    done = run("-m", "nogpu", total.name, cwd=total.parent, expect=1)
    assert "".join(done.stderr.splitlines(keepends=True)[-2:]) == block("text", "nogpu.Race")


def test_the_repaired_example_prints_the_sum(total):
    loop = "        if (t < half) part[t] += part[t + half];\n"
    text = total.read_text()
    assert loop in text and "the program prints `1000.0`" in README
    repaired = text.replace(loop, loop + "        __syncthreads(); }\n")
    total.write_text(repaired.replace("half /= 2)\n", "half /= 2) {\n"))
    assert run("-m", "nogpu", total.name, cwd=total.parent).stdout == "1000.0\n"


def test_names_in_the_readme_are_public():
    named = set(re.findall(r"`nogpu\.(\w+)", README))
    assert {"install", "uninstall", "inspect", "checks", "counting", "KernelFault"} <= named
    assert named <= {*nogpu.__all__, "faces", "engine"}


def test_code_in_the_readme_runs():
    code = block("python", "import nogpu\n")
    assert run("-c", code + "import cupy; print(cupy.arange(2) + 1)").stdout == "[1 2]\n"


def test_links_to_files_and_folders_lead_somewhere():
    for place in re.findall(r"`((?:tests|simulator)/[\w/.]*)`", README):
        root = SIMULATOR.parent if place.startswith("simulator") else SIMULATOR
        assert (root / place).exists(), place
