"""For authors and CI: nothing in here is imported by a notebook."""

import sys

# nbformat imports jsonschema, and that builds 38 parsers of internet addresses, which takes two
# seconds and no notebook needs. jsonschema does without where they cannot be imported.
sys.modules.setdefault("rfc3987_syntax", None)
