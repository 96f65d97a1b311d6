"""The training loop: device data, optimizers, one compiled step, evaluation, bookkeeping of time."""
