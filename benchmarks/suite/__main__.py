"""Run a workload of HomomorphicEncryption.org's suite by its harness, which says what is right.

python -m benchmarks.suite fetch-by-similarity 0 --harness FOLDER

FOLDER is a checkout of the workload's repository, of which `harness` is used, and what it would
download where that is there already: `datasets`, and a model in a folder of its name. What follows
is passed on: `--count_only`, `--num_runs 3`, `--seed 1`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import benchmarks
import cloakwork

STAGES = Path(__file__).parent
# What a submission is built by; there is nothing to build.
_SCRIPTS = "get_openfhe.sh", "build_task.sh"
_DOWNLOADS = "datasets", "google-bert", "submission/checkpoints"
# Where harnesses look for the stages.
_SUBMISSIONS = {"bert": "submissions"}
# Where harnesses look for stages that a build makes, unless they run the sources.
_BUILT = {
    "ml-inference": "build",
    "transciphering": "target/release",
    "zn-multiplication": "target/release",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the harness on the stages, and return how it exits."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.suite", description=(__doc__ or "").partition("\n")[2]
    )
    workloads = [path.name.replace("_", "-") for path in STAGES.iterdir() if path.is_dir()]
    parser.add_argument("workload", choices=[name for name in workloads if "--" not in name])
    parser.add_argument("size", help="0 toy, 1 small, 2 medium")
    parser.add_argument("--harness", required=True, type=Path, help="a checkout of the workload")
    asked, passed_on = parser.parse_known_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        lay_out(place, asked.harness, asked.workload)
        run = [sys.executable, "harness/run_submission.py", asked.size, *passed_on]
        paths = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])
        # Stages read what the first of them compiled of Python, as an installed package's do.
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": str(place / "pyc")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        code = subprocess.run(run, cwd=place, env=environment, check=False).returncode
        for measured in sorted(place.glob("measurements/*/*.json")):
            print(f"{measured.parent.name}: {measured.read_text()}")
    return code


def lay_out(place: Path, harness: Path, workload: str) -> None:
    """Put a harness and the stages of a workload where the harness expects them.

    Args:
        place: An empty folder.
        harness: A checkout that has the harness.
        workload: The name of the workload.
    """
    shutil.copytree(harness / "harness", place / "harness")
    for name in _DOWNLOADS:
        if (harness / name).exists():
            shutil.copytree(harness / name, place / name)
    stages = STAGES / workload.replace("-", "_")
    laid = place / _SUBMISSIONS.get(workload, "submission")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(stages, laid, ignore=ignored, dirs_exist_ok=True)
    for name in _SCRIPTS:
        _write_script(place / "scripts" / name, "")
    if workload in _BUILT:
        for stage in laid.glob("*_*.py"):
            run = f'exec {sys.executable} submission/{stage.name} "$@"\n'
            _write_script(laid / _BUILT[workload] / stage.stem, run)
    # Stages look for their modules in the folder that the harness runs in.
    for package in (cloakwork, benchmarks):
        assert package.__file__ is not None
        source = Path(package.__file__).parent
        os.symlink(source, place / source.name, target_is_directory=True)


def _write_script(path: Path, commands: str) -> None:
    """Write a script of the shell that may be run, in a folder that need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{commands}")
    path.chmod(0o755)


if __name__ == "__main__":
    sys.exit(main())
