"""What a run ends with: its last network, or that of its best evaluation."""

from __future__ import annotations

from senn_cli.runs.directory import RunDirectory
from senn_cli.training.loop import Trainer
from senn_cli.training.network import Network
from senn_cli.training.observer import Event, Observer
from senn_cli.training.saving import Saver


def result_of(directory: RunDirectory, trainer: Trainer, saver: Saver, heard: Observer) -> Network:
    """The network that the run ends with: the last, or that of the best evaluation.

    What the watch has led to becomes the history's last line, and is told; where the run is made
    longer the line is cut away.

    Args:
      saver: has saved the run's last moment.

    Raises:
      RunError: the best network is damaged, or the history cannot be written.
    """
    watch, best, network = trainer.watch, trainer.best, trainer.network
    restore = watch is not None and watch.restore and best.step is not None
    if restore:
        network = saver.best_network().on(trainer.place)
    if restore or trainer.exhausted:
        line = ended(trainer, network, restored=restore)
        directory.append_history(line)
        heard.note(f"{line['reason'][0].upper()}{line['reason'][1:]}.")
    return network


def ended(trainer: Trainer, network: Network, *, restored: bool) -> Event:
    """The history's last line of a run that was stopped early, or that restored its best network.

    Args:
      network: what the run ends with.
      restored: whether that is the network of the best evaluation.
    """
    best, architecture, words = trainer.best, network.architecture, []
    if trainer.exhausted:
        words.append(f"stopped, as {best.metric} did not improve in {best.waited} evaluations")
    if restored:
        words.append(
            f"the result is the network of step {best.step}, {best.metric} {best.value:.4g}"
        )
    return {
        "step": trainer.step,
        "epoch": trainer.step / trainer.timetable.per_epoch,
        "edit": None,
        "accepted": False,
        "reason": "; ".join(words),
        "threshold": None,
        "stop": None,
        "bound": None,
        "train_loss": None,
        "hidden": list(architecture.widths),
        "capacities": list(architecture.capacities),
        "parameters": architecture.parameters,
        "candidates": [],
        "seconds": {},
        "end": best.to_json() | {"stopped": trainer.exhausted, "restored": restored},
    }
