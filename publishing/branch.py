"""Make the branch `published`: the course with its address in every badge and setup cell.

No other branch and no file changes, so a fork merges from upstream without conflicts.
"""

import tempfile
from pathlib import Path

from authoring.notebook_form import ROOT, AuthoringError
from authoring.publish import BRANCH, address_of, with_address
from authoring.repository import git, has_git

SUBJECT = "Published:"  # so begin the branch's commits


def publish(said: str = "", root: Path = ROOT) -> list[str]:
    """Commit the last commit's files, with the address, to `published`; return what was done.

    The address is what was said, or else that of the remote repository `origin`. The branch only
    grows. It has no workflows, because GitHub does not let a workflow push those.

    Raises
    ------
    AuthoringError
        Without git or a possible address, and where the branch is somebody's own or checked out.
    """
    if not has_git(root):
        raise AuthoringError(f"{root} is no git repository")
    new = address_of(said or git(root, "config", "--default", "", "remote.origin.url").strip())
    ref = f"refs/heads/{BRANCH}"
    before = git(root, "for-each-ref", "--format=%(objectname) %(subject)", ref).split()
    if before and before[1] != SUBJECT or git(root, "branch", "--show-current") == f"{BRANCH}\n":
        raise AuthoringError(f"go to the branch main, and rename a branch {BRANCH} of your own")
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        git(root, "read-tree", "HEAD", **index)
        git(root, "rm", "-rq", "--cached", "--ignore-unmatch", ".github/workflows", **index)
        blobs = {name: git(root, "hash-object", "-w", "--stdin", text=text).strip()
                 for name, text in with_address(new, root).items()}
        git(root, "update-index", "--index-info", **index, text="".join(
            f"100644 {blob}\t{name}\n" for name, blob in blobs.items()))
        tree = git(root, "write-tree", **index).strip()
    commit = git(root, "-c", "user.name=publish", "-c", "user.email=publish", "commit-tree", tree,
                 *(["-p", before[0]] if before else []), "-m", f"{SUBJECT} {new}").strip()
    git(root, "update-ref", ref, commit)
    return [f"{BRANCH}: {len(blobs)} files have the address {new}",
            f"git push origin {BRANCH}  # publishes them"]
