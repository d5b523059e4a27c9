"""The benchmark of deep networks: its measurement, its table and its checks."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from benchmarks.deep_networks import __main__ as deep_networks
from benchmarks.deep_networks import table
from benchmarks.deep_networks.evaluate import Evaluation, evaluate
from benchmarks.deep_networks.jobs import JOBS, Job
from examples.nn import image_networks
from examples.nn.digits import digits
from examples.nn.scenes import CELLS, detected, detection_loss, scenes
from examples.nn.training import Trained, train_on_images


def small() -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.SiLU(), nn.Linear(8, 10))


def trained() -> Trained:
    return train_on_images(small, digits(8), epochs=1)


def evaluation_of(**changed: Any) -> Evaluation:
    figures: dict[str, Any] = {field.name: 1 for field in fields(Evaluation)}
    return Evaluation(**(figures | {"job": "YOLO, SiLU", "largest_error": 0.5} | changed))


def test_a_network_is_measured_and_right(tmp_path: Path) -> None:
    job = Job("small", trained, batch=2, runs=2, precision=8, calibrating=64)
    made = evaluate(job, tmp_path)
    assert (made.batch, made.inputs, made.agreeing, made.bootstraps) == (2, 4, 4, 0)
    assert made.largest_error <= made.expected_error < 2.0**-4
    assert made.predicted_bytes == pytest.approx(made.process_bytes, rel=0.2)
    assert made.cpu_seconds > 0
    assert not deep_networks.is_wrong(made)
    # The same network is trained and compiled again: the program is read.
    again = evaluate(job, tmp_path)
    assert (again.rotations, again.key_bytes) == (made.rotations, made.key_bytes)
    assert len([*tmp_path.glob("*.cloakwork")]) == 1


def test_every_network_of_the_literature_is_there() -> None:
    names = {job.name.partition(",")[0] for job in JOBS}
    resnets = {f"ResNet-{depth}" for depth in (20, 32, 44, 56, 110)}
    assert names == resnets | {
        "VGG-16",
        "AlexNet",
        "MobileNet",
        "YOLO",
        "vision transformer",
        "text transformer",
    }
    assert len({job.name for job in JOBS}) == len(JOBS)


def test_the_table_has_a_row_of_as_many_cells_for_each() -> None:
    heading, rule = table.heading().splitlines()
    row = table.line(evaluation_of())
    assert heading.count("|") == rule.count("|") == row.count("|")
    assert row.startswith("| YOLO, SiLU | 1.000 | 1 s |")


def test_an_error_beyond_the_expected_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.json"
    assert deep_networks.finish([evaluation_of()], path) == 0
    assert {row["job"] for row in json.loads(path.read_text())} == {"YOLO, SiLU"}
    for error in (1.5, float("nan")):
        assert deep_networks.finish([evaluation_of(largest_error=error)], None) == 1
        assert "WRONG: YOLO" in capsys.readouterr().err


@pytest.mark.parametrize(
    "make",
    [
        *(partial(image_networks.resnet, depth) for depth in (20, 32, 44, 56, 110)),
        image_networks.vgg_16,
        image_networks.alexnet,
        image_networks.mobilenet,
    ],
)
def test_networks_take_images_of_32_by_32(make: Any) -> None:
    with torch.no_grad():
        assert make().eval()(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_yolo_sees_a_digit_where_it_is() -> None:
    data = scenes()
    images, labels = data.test[:8], data.test_labels[:8]
    assert images.shape[1:] == (3, 32, 32)
    with torch.no_grad():
        found = image_networks.yolo().eval()(images)
    assert found.shape == (8, 5 + image_networks.CLASSES, CELLS, CELLS)
    # As labelled, and as sure as can be.
    exact = torch.full_like(found, 0.01).flatten(2)
    rows, cells = torch.arange(8), labels[:, 0].long()
    exact[rows, :4, cells] = labels[:, 2:]
    exact[rows, 4, cells] = 0.99
    exact[rows, 5 + labels[:, 1].long(), cells] = 0.99
    right = exact.reshape(found.shape)
    assert detected(right, labels).all()
    assert detection_loss(right, labels) < detection_loss(found, labels)
