"""The command line: `python -m publishing COMMAND`, or `make COMMAND`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from authoring.notebook_form import ROOT, AuthoringError

from .branch import publish
from .claims import write_claims
from .picture import write_picture
from .site import build_site
from .workshop import DAYS, write_workshop


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run one command; return the exit status."""
    top = argparse.ArgumentParser(prog="python -m publishing")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("site", help="build the course as static pages, from the stored outputs")
    commands.add_parser("picture", help="draw the README's picture from the recorded ladder")
    commands.add_parser("claims", help="write the appendix's texts from the ledger of claims")
    commands.add_parser("workshop", help="write a day's notebooks, slides and teacher's sheet"
                        ).add_argument("day", choices=DAYS)
    commands.add_parser("publish", help="commit the course, with its address, to a branch"
                        ).add_argument("repository", nargs="?", default="", metavar="owner/name")
    options = top.parse_args(arguments)
    try:
        written = ([str(build_site(root))] if options.command == "site"
                   else publish(options.repository, root) if options.command == "publish"
                   else write_picture(root) if options.command == "picture"
                   else write_claims(root) if options.command == "claims"
                   else write_workshop(options.day, root))
    except AuthoringError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(*written, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
