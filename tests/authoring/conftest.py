"""A git repository for tests of tools that overwrite only what git has."""

import os
import subprocess

import pytest

NOBODY = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER")
          for what in ("NAME", "EMAIL")}


@pytest.fixture
def commit(tmp_path):
    """What commits all files of a folder, in a repository that it makes there."""
    def commit(folder=tmp_path):
        for arguments in (["init", "--quiet"], ["add", "--all"],
                          ["commit", "--quiet", "--allow-empty", "--message", "all"]):
            subprocess.run(["git", "-C", str(folder), *arguments], check=True,
                           env={**os.environ, **NOBODY})
    return commit
