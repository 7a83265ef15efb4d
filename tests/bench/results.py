# SPDX-License-Identifier: MIT
"""results - figures of alternating runs, as a table and as CSV.

    group = Group("alloc", "a million malloc/free pairs", base="alone")
    group.add("alone", {"wall_s": 0.61})             # once for each run
    group.refuse("heaptrack", "not installed")
    print_table(columns, [group])

A figure is the median over the runs, with the smallest and the largest.  A ratio compares a run with the base's
run of the same round, so that what disturbs a whole round cancels out; it is the median of these.
"""

from dataclasses import dataclass, field
from statistics import median


@dataclass
class Column:
    metric: str
    heading: str
    unit: str                # s, B, %, ns or "" for counts
    ratio: bool = False      # show how it compares with the base's


@dataclass
class Group:
    """Variants of one thing, measured in turn."""

    name: str
    description: str
    base: str = None                               # variant that ratios refer to
    runs: dict = field(default_factory=dict)       # variant -> [{metric: figure or None}, ...]
    notes: dict = field(default_factory=dict)      # variant -> why there are no figures, or what to know

    def add(self, variant, figures):
        self.runs.setdefault(variant, []).append(figures)

    def refuse(self, variant, why):
        """The variant has no figures; what there was of it does not count."""
        self.runs[variant] = []
        self.notes[variant] = why

    def figures(self, variant, metric):
        found = [run.get(metric) for run in self.runs.get(variant, [])]
        return [figure for figure in found if figure is not None]

    def ratios(self, variant, metric):
        pairs = zip(self.runs.get(variant, []), self.runs.get(self.base, []))
        pairs = [(run.get(metric), base.get(metric)) for run, base in pairs]
        return [figure / base for figure, base in pairs if figure is not None and base]


def text_of(figure, unit):
    if unit == "s":
        return f"{figure:.2f} s" if figure >= 1 else f"{figure * 1000:.1f} ms"
    if unit == "B":
        for prefix in ("", "Ki", "Mi"):
            if figure < 1024:
                return f"{figure:.0f} B" if not prefix else f"{figure:.1f} {prefix}B"
            figure /= 1024
        return f"{figure:.1f} GiB"
    if unit == "":
        return f"{figure:,.0f}"
    if unit == "%":
        return f"{figure:.2f} %"
    if unit == "ns" and figure >= 100e3:
        return f"{figure / 1e3:,.0f} µs"
    return f"{figure:.{1 if figure < 100 else 0}f} {unit}"


def cells(group, variant, column):
    figures = group.figures(variant, column.metric)
    if not figures:
        return ["-", "-"] if column.ratio else ["-"]
    shown = [text_of(median(figures), column.unit)]
    if column.ratio:
        shown.append(ratio_text(group.ratios(variant, column.metric)))
    elif len(figures) > 1 and column.unit != "B":
        shown[0] += f" ({text_of(min(figures), column.unit)}–{text_of(max(figures), column.unit)})"
    return shown


def ratio_text(ratios):
    if not ratios:
        return "-"
    spread = f" ({min(ratios):.2f}–{max(ratios):.2f})" if len(ratios) > 1 else ""
    return f"{median(ratios):.2f}{spread}"


def headings(columns):
    for column in columns:
        yield column.heading
        if column.ratio:
            yield "ratio"


def print_table(columns, groups, out):
    """A block for each group: a line for each variant, why figures are missing behind it."""
    rows = [["", *headings(columns)]]
    for group in groups:
        rows.append([f"{group.name}: {group.description}"])
        for variant in group.runs:
            row = [f"  {variant}"]
            for column in columns:
                row += cells(group, variant, column)
            rows.append(row + [group.notes.get(variant, "")])
    print_rows(rows, out)


def print_rows(rows, out):
    aligned = [row for row in rows if len(row) > 1]
    nr = len(rows[0])
    widths = [max(len(row[i]) for row in aligned) for i in range(nr)]
    for row in rows:
        if len(row) == 1:
            print(row[0], file=out)
            continue
        line = row[0].ljust(widths[0])
        for cell, width in zip(row[1:nr], widths[1:]):
            line += "  " + cell.rjust(width)
        print("  ".join([line, *row[nr:]]).rstrip(), file=out)


CSV_HEADER = ["part", "group", "variant", "metric", "unit", "runs", "median", "min", "max",
              "ratio", "ratio_min", "ratio_max", "note"]


def csv_rows(part, columns, groups):
    for group in groups:
        for variant in group.runs:
            for column in columns:
                figures = group.figures(variant, column.metric)
                ratios = group.ratios(variant, column.metric) if column.ratio else []
                yield [part, group.name, variant, column.metric, column.unit, len(figures),
                       *summary(figures), *summary(ratios), group.notes.get(variant, "")]


def summary(figures):
    return [f"{f:.6g}" for f in (median(figures), min(figures), max(figures))] if figures else [""] * 3
