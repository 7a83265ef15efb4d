# SPDX-License-Identifier: MIT
"""Recordings of very many processes, as of a long build."""

# Processes by the dozen, with time to write down what there is to say of them, and then what the recorder has.
DOZENS = """
for round in 1 2 3 4; do
	i=0; while [ $i -lt $1 ]; do bash -c :; i=$((i+1)); done; sleep 1.3
	grep RssAnon: /proc/$PPID/status
done
"""


def test_the_recorder_keeps_little_of_the_heap_of_a_process_that_has_ended(record, need):
    need.tool("bash")  # which allocates at hundreds of places as it starts
    nr = 48
    result = record("sh", "-c", DOZENS, "sh", nr, options=["-q", "--no-symbols"])
    first, *_, last = (int(line.split()[1]) for line in result.stdout.splitlines())
    assert last - first < 3 * nr * 60  # kB; all that there is to say of one is more than 120
