"""Training: device data, optimizers, the compiled step, evaluation, the loop, a whole run."""
