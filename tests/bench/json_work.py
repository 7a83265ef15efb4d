# SPDX-License-Identifier: MIT
"""json_work.py ROUNDS - writes and reads a document of 3,000 objects as JSON."""

import json
import sys

document = [{"id": i, "name": f"item {i}", "tags": [str(i % 7), str(i % 11)], "at": [i * 0.5, -i], "on": i % 3 == 0}
            for i in range(3000)]
for _ in range(int(sys.argv[1])):
    assert json.loads(json.dumps(document)) == document
