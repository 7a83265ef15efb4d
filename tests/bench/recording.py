# SPDX-License-Identifier: MIT
"""recording - programs run alone and under each profiler, in turn: one campaign, several parts of it shown.

    campaign = Campaign(meter, folder, runs=3)
    campaign.groups            # measured when first asked for
    campaign.reports()         # what it takes to print names from the last run's data

A round is one run of each variant (A B C A B C ...), so that what changes on the machine meets them all.
Profilers that slow a program down ten times and more get less work and a third of the rounds, in a group of their own
with its own run alone.
"""

from functools import cached_property

from measure import Command
from profilers import ALONE, ALONE_PROFILER, BOTH, FULL, PROFILERS, TENTH, TINY, NoData
from results import Group
from rounds import data_bytes, fresh_folder, in_turn, progress, refuse_missing, try_run
from workloads import workloads

SIZE_NAMES = {FULL: "", TENTH: ", a tenth", TINY: ", tiny"}
PATIENCE_S = 1       # a report that takes longer is not repeated


class Campaign:
    def __init__(self, meter, folder, runs, quick=False):
        self.meter, self.folder, self.runs, self.quick = meter, folder, runs, quick
        self.data = {}      # (group's name, profiler's name) -> (profiler, program, folder of the last run)

    @cached_property
    def groups(self):
        groups = []
        for workload in workloads(self.folder, self.quick):
            if self.quick:
                groups.append(self._measure(workload, TINY, quick_profilers(workload)))
                continue
            for size in (FULL, TENTH, TINY):
                groups.append(self._measure(workload, size, [p for p in PROFILERS if p.size == size]))
        return groups

    def _measure(self, workload, size, profilers):
        group = Group(workload.name + SIZE_NAMES[size], workload.description, base=ALONE)
        profilers = {profiler.name: profiler for profiler in (ALONE_PROFILER, *profilers)}
        if workload.missing():
            for name in profilers:
                group.refuse(name, workload.missing())
        refuse_missing(group, profilers.values())
        in_turn(group, self.runs if size == FULL else max(1, self.runs // 3), profilers,
                lambda name: self._run(group, workload, size, profilers[name]))
        return group

    def _run(self, group, workload, size, profiler):
        folder = fresh_folder(self.folder, f"{group.name} {profiler.name}")
        before, variables = profiler.wrap(workload.program, folder)
        run = try_run(self.meter, group, profiler.name,
                      Command([*before, workload.program, *workload.arguments[size]],
                              profiler.image or workload.program, folder,
                              {**workload.environment, **variables}, workload.drive.get(size)))
        if not run:
            return
        figures = dict(vars(run))
        if profiler.name != ALONE:
            figures["disk_bytes"] = data_bytes(folder)
            self.data[group.name, profiler.name] = (profiler, workload, folder)
        group.add(profiler.name, figures)

    def reports(self):
        """Groups like those of the campaign, with the time from the end of the program to the end of a report."""
        groups = []
        for measured in self.groups:
            group = Group(measured.name, measured.description)
            for name in measured.runs:
                if name != ALONE:
                    self._report(group, measured, name)
            groups.append(group)
        return groups

    def _report(self, group, measured, name):
        if not measured.runs[name]:
            group.refuse(name, measured.notes[name])
            return
        profiler, workload, folder = self.data[group.name, name]
        if not profiler.reports:
            group.refuse(name, profiler.no_report)
        for kind, command in profiler.reports:
            variant = name if len(profiler.reports) == 1 else f"{name}, {kind}"
            try:
                arguments = command(workload.program, folder)
            except NoData as why:
                group.refuse(variant, str(why))
                continue
            self._time_report(group, variant, Command(arguments, workload.program, folder), measured.runs[name])

    def _time_report(self, group, variant, command, recorded):
        """Once for each of the recorded runs, unless it takes long."""
        for figures in recorded:
            progress(f"{group.name}: {variant}")
            run = try_run(self.meter, group, variant, command)
            if not run:
                return
            prompt_s = figures["after_exit_s"]
            group.add(variant, {"after_exit_s": prompt_s, "report_s": run.wall_s, "report_rss": run.total_rss,
                                "named_s": run.wall_s + prompt_s if prompt_s is not None else None})
            if run.wall_s > PATIENCE_S:
                return


def quick_profilers(workload):
    """The peers are tried once."""
    return [p for p in PROFILERS if p.quick and (p.side == BOTH or not workload.drive)]

