#!/usr/bin/env python3
"""Searches the problems of searchers_bench with Optuna's samplers, at their defaults.

  optuna_search.py --sampler TPE [--problem NAME]... [--set heldout] [--seeds 25]
      a JSON object a line, of the same form as `searchers_bench --json`
  optuna_search.py --check searchers_bench
      compares the functions of problems.py with those of that program, at random points; needs no Optuna

One search at a time. `pip install optuna cmaes` first, and for GP `scipy torch`.
"""

import argparse
import json
import math
import random
import subprocess
import sys

from problems import PROBLEMS

MILESTONES = (50, 100, 200)
POINTS = 200


def quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    below, above = values[math.floor(place)], values[math.ceil(place)]
    return below if below == above else below + (above - below) * (place - math.floor(place))


def make_sampler(optuna, name, seed):
    samplers = {"random": "RandomSampler", "TPE": "TPESampler", "CMA-ES": "CmaEsSampler",
                "GP": "GPSampler"}
    return getattr(optuna.samplers, samplers[name])(seed=seed)


def best_values(optuna, problem, sampler, seed, evaluations):
    """After each evaluation the noiseless value of what looked best so far."""
    study = optuna.create_study(sampler=make_sampler(optuna, sampler, seed))
    noise = random.Random(seed)
    best_told, best_value, bests = math.inf, math.inf, []
    for _ in range(evaluations):
        trial = study.ask()
        config = problem.ask(trial)
        value = math.nan if problem.fails(config) else problem.value(config)
        told = value + problem.noise * noise.gauss(0, 1)
        # What optimize() makes of an exception and of NaN.
        if math.isnan(told):
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, told)
            if told < best_told:
                best_told, best_value = told, value
        bests.append(best_value)
    return bests


def search(arguments):
    import optuna
    import warnings

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    for problem in PROBLEMS:
        if arguments.problem and problem.name not in arguments.problem:
            continue
        if not arguments.problem and arguments.set != "all":
            if problem.heldout != (arguments.set == "heldout"):
                continue
        searches = [best_values(optuna, problem, arguments.sampler, seed, arguments.evaluations)
                    for seed in range(arguments.seeds)]
        for count in sorted({*MILESTONES, arguments.evaluations}):
            if count > arguments.evaluations:
                continue
            values = [bests[count - 1] for bests in searches]
            print(json.dumps({"searcher": arguments.sampler, "version": optuna.__version__,
                              "problem": problem.name, "evaluations": count,
                              "seeds": arguments.seeds, "median": quantile(values, 0.5),
                              "lower_quartile": quantile(values, 0.25),
                              "upper_quartile": quantile(values, 0.75)}), flush=True)


def check(program):
    """Exit status 1 if a value differs; every problem has to be on both sides."""
    output = subprocess.run([program, "--values", str(POINTS)], check=True, capture_output=True,
                            text=True).stdout
    problems = {problem.name: problem for problem in PROBLEMS}
    counts, faults = dict.fromkeys(problems, 0), []
    for line in map(json.loads, output.splitlines()):
        name, config = line["problem"], line["config"]
        if name not in problems:
            faults.append(f"{name} is not in problems.py")
            continue
        counts[name] += 1
        fails = problems[name].fails(config)
        value = math.nan if fails else problems[name].value(config)
        other = math.nan if line["value"] is None else line["value"]
        same = fails == line["fails"] and (
            math.isnan(value) and math.isnan(other)
            or math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12))
        if not same:
            faults.append(f"{name}: {value} here, {other} there, at {config}")
    faults += [f"{name} has {count} values, want {POINTS}"
               for name, count in counts.items() if count != POINTS]
    for fault in faults[:20]:
        print(fault)
    if faults:
        return 1
    print(f"{len(counts)} problems, {sum(counts.values())} values are the same")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="PROGRAM")
    parser.add_argument("--sampler", choices=["random", "TPE", "CMA-ES", "GP"], default="TPE")
    parser.add_argument("--problem", action="append")
    parser.add_argument("--set", choices=["reference", "heldout", "all"], default="reference")
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--evaluations", type=int, default=200)
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.check)
    search(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
