# SPDX-License-Identifier: MIT
"""The figures of a tree's heap that are the sums of those of its images."""

ALL_COUNTED = ("allocations", "frees", "reallocations", "allocated_bytes", "freed_bytes", "live_bytes",
               "live_blocks", "peak_bytes", "inherited_bytes", "inherited_frees")
SUMS = [key for key in ALL_COUNTED if key != "peak_bytes"]


def check_sums(report):
    """The whole is the sum of the images."""
    images = [p["heap"] for p in report["processes"] if p["tracked"]]
    for key in SUMS:
        assert report["heap"][key] == sum(heap[key] for heap in images), key
    assert report["heap"]["peak_bytes"] <= sum(heap["peak_bytes"] for heap in images)
    assert report["heap"]["peak_exact"]


def check_stored_sums(profile):
    """The same by SQL, where the document would be large."""
    for key in SUMS:
        (whole,), = profile.sql(f"SELECT {key} FROM heap WHERE process = -1")
        assert profile.sql(f"SELECT sum({key}) FROM heap WHERE process >= 0") == [(whole,)], key
