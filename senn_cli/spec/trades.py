"""What the options of a spec trade, in which unit, and where the paper has them.

Beside each option's own `description` (what it is) stands here what a larger, a smaller or another
value gives and costs. Keys are dotted names, counted from the top of a spec; options of one name in
several members of a union have one entry. `senn explain`, the reference and the JSON schema show
them. Places are those of "Self-Expanding Neural Networks" (ICML 2024).
"""

from __future__ import annotations

from typing import NamedTuple


class Note(NamedTuple):
    """What is told of an option beyond its description.

    Attributes:
      trade: what other values give and cost.
      unit: of its numbers; empty where it has none.
      paper: the place in the paper; empty where it is not from there.
    """

    trade: str
    unit: str = ""
    paper: str = ""


_AUGMENT = {
    "kind": Note("More kinds of change make the training images more various and the fit slower."),
    "probability": Note("Larger: more various images; smaller: more of them as they are.", "share"),
    "to": Note("Larger: `crop` then shifts images further, and may cut more off.", "factor"),
    "degrees": Note("Larger: more various; so large that a 6 becomes a 9 it misleads.", "degrees"),
    "low": Note("Smaller: objects may become smaller, and lose detail.", "factor"),
    "high": Note("Larger: objects may become larger, and lose their edges.", "factor"),
    "saturation": Note("A wider range: color tells less.", "factor"),
    "contrast": Note("A wider range: brightness differences tell less.", "factor"),
    "brightness": Note("Larger: overall brightness tells less.", "share of white"),
    "share": Note("Larger: fewer images are seen as they are.", "share", "appendix B"),
    "apply": Note("More steps: more various images.", "", "appendix B"),
}

_DATA = {
    "validation": Note(
        "Larger: choices made by it (early stopping, `checkpoints.best`) are surer, and less is "
        "left to learn from.",
        "examples or share",
    ),
    "subset": Note(
        "Smaller: faster, and less to learn from; subsets are nested.", "examples or share"
    ),
    "test": Note(
        "Larger: the final figure is surer, and less is left to learn from.", "examples or share"
    ),
    "normalize": Note(
        "One scale a feature serves columns of different units; one for all keeps what their "
        "relative size tells, as of pixels."
    ),
    "augment": Note("More change: less overfitting of small sets, more steps to fit."),
    **{f"augment.{name}": note for name, note in _AUGMENT.items()},
    **{
        f"augment.apply.{name}": note
        for name, note in _AUGMENT.items()
        if name not in ("share", "apply")
    },
    "weights": Note("Examples that count more are fitted better, at the cost of the others."),
    "version": Note("A fixed one stays the same when the set is mended."),
    "source": Note("Every source has options of its own."),
    "train": Note("More: a smoother fit and longer epochs.", "examples"),
    "noise": Note("Larger: a harder problem; more of what a network could fit is chance."),
    "hidden": Note("Wider or deeper: a function that needs more neurons.", "neurons"),
    "size": Note("Larger: more detail; time and memory grow with its square.", "pixels"),
    "channels": Note("1 costs a third of the first layer, and color is lost."),
    "labels": Note("The coarse ones are fewer and easier."),
    "classes": Note("Fewer: an easier and faster problem."),
    "per_class": Note("Smaller: faster to read and to train, less to learn from.", "images"),
    "task": Note(
        "Class numbers read as real numbers would be fitted by their distances, and numbers read "
        "as classes have none."
    ),
    "normalize_targets": Note(
        "Off: losses, damping and learning rates are in the targets' own units, and need settings "
        "of their own."
    ),
    "missing": Note(
        "Dropping rows loses examples and cannot serve new ones with gaps; filling in guesses."
    ),
    "header": Note("`auto` looks at the first line; a number skips what stands before."),
    "delimiter": Note("`auto` looks at the first lines; a wrong one gives a single column."),
    "categories": Note(
        "Numbers that only name things (postcodes) learn better as categories; each value becomes "
        "an input."
    ),
}

_NETWORK = {
    "kind": Note("An mlp serves tables and small images; a densenet serves images."),
    "hidden": Note(
        "Small: growth decides; large: less of it is needed, and its first steps cost more.",
        "neurons",
    ),
    "activation": Note(
        "`rational` costs three parameters a neuron, and its coefficients have a closed form in "
        "the search; of the others, smooth ones have a score that changes smoothly.",
        "",
        "section 3.1",
    ),
    "dropout": Note("Larger: less overfitting, slower fit, noisier gradients and scores.", "share"),
    "capacity": Note("More: fewer compilations as the network grows, more memory and time a step."),
    "capacity.multiple": Note(
        "Larger: fewer compilations, more arithmetic on units that are not in use.", "units"
    ),
    "capacity.growth": Note(
        "Larger: fewer compilations, more arithmetic on units that are not in use.", "share"
    ),
    "capacity.initial": Note(
        "Larger: nothing is compiled until it is full; for dormant proposals, more of them.",
        "units",
    ),
    "capacity.in_use": Note(
        "Larger: fewer enlargements, and fewer proposals stand beside those in use.", "share"
    ),
    "blocks": Note("More blocks: smaller images further up, and a larger view.", "channels"),
    "pool": Note("3x3 windows overlap; the mean is smooth, the maximum keeps what is strongest."),
    "bud": Note(
        "Larger: a wider layer where one is inserted, and every look costs more.",
        "channels",
        "appendix B",
    ),
    "compute": Note("bfloat16 is for accelerators, and rounds more."),
    "recompute": Note("On: deeper networks and larger batches fit; steps take longer."),
}

_LOSS = {
    "kind": Note(
        "huber and mae are led less by outliers and fit the bulk more slowly; poisson suits counts "
        "and its errors grow with the rate.",
        "",
        "section 3.4",
    ),
    "label_smoothing": Note("Larger: less confident answers.", "share"),
    "class_weight": Note("Weights on rare classes raise their recall and lower overall accuracy."),
    "delta": Note(
        "Larger: like squared errors; smaller: like absolute ones.", "deviations of the targets"
    ),
}

_OPTIMIZER = {
    "kind": Note(
        "The natural gradient needs the fewest steps, each of which costs more; scores come from "
        "the curvature that it has anyway.",
        "",
        "section 3.4",
    ),
    "preset": Note("`paper` is nearer to the authors' settings and slower.", "", "appendix B"),
    "solver": Note(
        "cg and rows are exact up to damping; cg is far slower a step, rows is not for few "
        "examples and outputs. ekfac is nearer to exact than kfac, a little slower.",
        "",
        "appendix B",
    ),
    "learning_rate": Note("Larger: faster until steps overshoot; smaller: slower and safer."),
    "damping": Note(
        "Larger: shorter steps, nearer to the plain gradient; smaller: bolder where the curvature "
        "is small, and noisier."
    ),
    "momentum": Note("Larger: smoother and faster along valleys, overshooting elsewhere.", "share"),
    "weight_decay": Note(
        "Larger: smaller weights, less overfitting, less precise fit; it matters more the smaller "
        "the data."
    ),
    "metric": Note(
        "The task's own makes eta the gain in nats; the Euclidean one counts all outputs alike.",
        "",
        "section 3.4",
    ),
    "kl_clip": Note("Larger: longer steps; smaller: safer ones, more of them.", "nats"),
    "adapt_damping": Note(
        "On: fewer steps where the loss is of all the data at once; off: steadier on batches."
    ),
    "basis_tolerance": Note("Larger: cheaper steps in an older basis.", "share"),
    "moving_average": Note("Larger: less noise in the curvature, which lags behind.", "share"),
    "invert_every": Note("Larger: cheaper steps with an older curvature.", "steps"),
    "fixed_input_factor": Note("Off: it is averaged over batches, with their noise."),
    "cg_iterations": Note("More: nearer to the exact step, slower.", "iterations"),
    "cg_tolerance": Note("Smaller: nearer to the exact step, slower.", "share of the gradient"),
    "schedule.kind": Note("A falling rate ends with less noise; a constant one can go on."),
    "schedule.warmup": Note("Longer: a gentler start, less time at the peak.", "steps or epochs"),
    "schedule.final": Note("Smaller: less noise at the end; late neurons learn less.", "share"),
    "schedule.decay": Note("Longer: less noise at the end, less time to grow.", "share of the run"),
    "schedule.cycles": Note(
        "More: fresh chances for growth at high rates.", "", "section 4, appendix B"
    ),
    "b1": Note("Larger: smoother and slower to turn.", "share"),
    "b2": Note("Larger: steadier step sizes that adapt more slowly.", "share"),
    "eps": Note("Larger: steps of rarely used weights stay small."),
    "nesterov": Note("On: it turns a little earlier where the gradient does."),
    "decay": Note("Larger: steadier step sizes that adapt more slowly.", "share"),
    "beta": Note("Larger: smoother and slower to turn.", "share"),
    "iterations": Note("More: nearer to orthogonal, slower.", "iterations"),
    "adam_share": Note("Larger: biases and coefficients move faster beside the kernels.", "share"),
}

_CURVATURE = {
    "every": Note(
        "Rarer: cheaper, and scores and steps use an older curvature.", "steps or epochs"
    ),
    "method": Note(
        "rank_one costs O(n^2) an update and drifts until it is checked; ema inverts anew.",
        "",
        "appendix E",
    ),
    "moving_average": Note("Larger: less noise, which lags behind.", "share", "appendix E"),
    "invert_every": Note("Larger: cheaper, with older inverses.", "looks", "appendix E"),
    "damping": Note("Larger: lower and steadier scores; smaller: noise counts as gain."),
    "samples": Note("More: less noise a look, a slower look.", "examples"),
    "stride": Note("Larger: cheaper by its square, noisier input factors.", "positions"),
    "vectors": Note("More: less noise, slower looks.", "vectors", "appendix E"),
}

_EXPANSION = {
    "policy": Note(
        "`random` shows what the score's choice of weights is worth; `none` what growth is worth; "
        "the others, at given times or places, what deciding these by the score is worth.",
        "",
        "section 3.3",
    ),
    "proposals": Note(
        "`search` finds better units and costs a search a round; `dormant` scores what stands "
        "there and costs a little at every look.",
        "",
        "section 3.2, appendix B",
    ),
    "start": Note("Later: first decisions are of a settled network.", "steps or epochs"),
    "until": Note("Earlier: what was added last has more time to learn.", "steps or epochs"),
    "max_hidden": Note("A limit of memory and time, not what growth should end by.", "units"),
    "max_parameters": Note("A limit of memory and time.", "parameters"),
    "prune": Note("On: smaller networks; each removal costs a little loss.", "", "section 3.5"),
    "prune.min_width": Note("Larger: layers keep more than they may need.", "units"),
    "prune.per_round": Note("Smaller: gentler, with more rounds.", "units"),
    "threshold": Note(
        "Larger: fewer, surer additions; at 0.007 some dozens of neurons on MNIST.",
        "share of eta",
        "section 3.3, ingredient 4",
    ),
    "stop": Note(
        "Larger: growth ends earlier in training, when less is left to gain.",
        "nats",
        "section 3.3, ingredient 4",
    ),
    "noise": Note("Larger: fewer additions that only fit the sample.", "times"),
    "accept": Note(
        "`paid` ends growth at the size that its price warrants; `paper` grows larger networks, "
        "and on small data needs a limit.",
        "",
        "section 3.3, ingredient 4",
    ),
    "price": Note(
        "1 asks of each parameter what Akaike's criterion does; larger: smaller networks.",
        "nats a parameter",
    ),
    "patience": Note(
        "Larger: late additions may still come, and rounds that search in vain.", "rounds"
    ),
    "every": Note(
        "More often: the network is large sooner and learns longer at its size; rounds cost time.",
        "steps or epochs",
        "section 3.3",
    ),
    "thin_to": Note(
        "Longer: fewer rounds that search in vain, and the last additions come later.",
        "steps or epochs",
    ),
    "samples": Note("More: surer scores, slower rounds and more memory.", "examples"),
    "score_on": Note(
        "The searched examples themselves overstate what was found on them.", "", "appendix B"
    ),
    "bias_removed": Note("Off: small samples overstate scores, and more is added."),
    "score_damping": Note("Larger: lower, steadier scores.", "share of the mean eigenvalue"),
    "realise": Note(
        "On: a neuron's gain comes at once and is told with both losses, and the function jumps; "
        "off: the function stays, and training gains it.",
        "",
        "ingredient 1",
    ),
    "width": Note("Off: layers keep their widths.", "", "ingredient 1"),
    "width.per_round": Note("Larger: faster growth by one look's evidence.", "units"),
    "width.max_width": Note("A limit of memory and time.", "units"),
    "width.layers": Note("Fewer: all that may be added goes where it is known to be needed."),
    "window": Note(
        "Longer: surer that the loss has come to rest, slower growth.", "steps or epochs"
    ),
    "flat": Note("Larger: faster growth, larger networks.", "share of the loss"),
    "scale": Note(
        "Larger: new neurons change the function at once, and learn sooner.",
        "share of the initial size",
    ),
    "step": Note("Larger: halves part sooner, and the prediction holds less well.", "weights"),
    "jitter": Note("Larger: copies part sooner, and the function changes more.", "share"),
    "outgoing": Note("Larger: new neurons learn faster at first.", "share of the mean length"),
    "least": Note("Larger: fewer neurons a round, of the best alone.", "share of the largest"),
    "candidates": Note("More: better neurons are found, by slower rounds.", "neurons"),
    "steps": Note("More: better neurons are found, by slower rounds.", "steps"),
    "size": Note(
        "Larger: more of a neuron's gain at once, and less sure predictions of it.",
        "share of the mean length",
    ),
    "mean_error": Note("Larger: growth ends sooner, with a worse fit.", "loss"),
    "max_error": Note("Larger: growth ends sooner, with single examples worse fitted.", "loss"),
    "width.method": Note(
        "closed_form solves for what the others, which are the paper's, climb to.", "", "appendix B"
    ),
    "width.proposals": Note("More: a better best one, a slower round.", "candidates", "appendix B"),
    "width.polished": Note("More: a better best one, a slower round.", "candidates"),
    "width.steps": Note("More: better fitted to the sample, slower.", "steps", "appendix B"),
    "width.rank": Note("Smaller: faster, less fitting of noise; larger: finer.", "directions"),
    "width.learning_rate": Note(
        "Larger: faster, or steps that lower the score and are tried again with a third of it.",
        "",
        "appendix B",
    ),
    "width.temperature": Note("Larger: more various, less good proposals.", "", "appendix B"),
    "width.coefficients": Note("The best ones score higher; initial ones are a control."),
    "depth": Note(
        "Off: the depth stays, and searches for layers are not compiled.", "", "ingredient 1"
    ),
    "depth.every": Note("Longer: a new layer has time before the next.", "steps or epochs"),
    "depth.max_layers": Note("A limit of memory and time.", "layers"),
    "depth.per_block": Note("A limit of memory and time.", "layers"),
    "depth.method": Note("As the width's.", "", "appendix B"),
    "depth.proposals": Note("More: a better best one, a slower round.", "candidates", "appendix B"),
    "depth.polished": Note("More: a better best one, a slower round.", "candidates"),
    "depth.steps": Note("More: better fitted to the sample, slower.", "steps"),
    "depth.learning_rate": Note(
        "Larger: faster, or steps that lower the score and are tried again with a third of it.",
        "",
        "appendix B",
    ),
    "depth.temperature": Note("Larger: more various, less good proposals.", "", "appendix B"),
    "depth.layer_cost": Note(
        "Larger: wider networks rather than deeper ones.", "times", "appendix B"
    ),
    "depth.log_determinant": Note(
        "Larger: better conditioned layers with lower scores.", "", "appendix B"
    ),
    "depth.singular_floor": Note(
        "Larger: the layer's inverse amplifies less, and it computes less freely.",
        "share of the mean",
        "appendix B",
    ),
    "dormant": Note("The chances of what happens to proposals.", "", "appendix B"),
    "dormant.activate": Note("Larger: faster growth.", "probability a step", "appendix B"),
    "dormant.prune": Note("Larger: faster pruning.", "probability a step", "appendix B"),
    "dormant.redraw": Note(
        "Larger: more proposals are tried, each is averaged for less time.",
        "probability an epoch",
        "appendix B",
    ),
    "dormant.bud_factor": Note("Larger: fewer insertions.", "times", "appendix B"),
    "dormant.slow": Note("Larger: newer and noisier scores.", "rate a step"),
    "dormant.neurons": Note("More: a better best one, more arithmetic a step.", "neurons"),
}

_TRAINING = {
    "epochs": Note("More: a better fit, then overfitting; time is proportional.", "epochs"),
    "steps": Note("More: a better fit, then overfitting; time is proportional.", "steps"),
    "minutes": Note("Longer: a better fit; runs on another machine end elsewhere.", "minutes"),
    "least_steps": Note("More: small data are passed more often.", "steps"),
    "batch_size": Note(
        "Larger: less noise and fewer steps an epoch; smaller: more steps, each noisier.",
        "examples",
    ),
    "clip": Note("Smaller: safer and slower steps.", "norm of the gradient"),
    "evaluate": Note("More often: finer curves and early stopping, more time.", "steps or epochs"),
    "stop": Note("Ends sooner, by what the validation part happens to say."),
    "stop.metric": Note("A loss falls more smoothly than an accuracy rises."),
    "stop.patience": Note("Larger: surer that nothing more comes, longer runs.", "evaluations"),
    "stop.min_delta": Note("Larger: ends sooner.", "of the metric"),
    "stop.restore": Note("Off: the last network, which may be past its best."),
}

_REST = {
    "seed": Note("Another seed is another split and another start: compare over several."),
    "device": Note("Where it is computed; several devices share every batch."),
    "device.kind": Note("A CPU may be faster for small networks; bits differ between devices."),
    "device.count": Note(
        "More: large batches take less time; small ones take more, as devices wait for each other.",
        "devices",
    ),
    "device.data_memory": Note(
        "Smaller: more room for the network; every batch is gathered from all devices, or handed "
        "out by the host.",
        "gigabytes",
    ),
    "gpu_memory": Note("Smaller: leaves room for others; too small: out of memory.", "share"),
    "deterministic": Note("On: equal bits in every run on a GPU, slower."),
    "checkpoints.enabled": Note("Off: an interrupted machine loses the run."),
    "checkpoints.every": Note(
        "More often: less is lost at a crash, more is written.", "minutes, steps or epochs"
    ),
    "checkpoints.growth": Note("On: every stage can be looked at and transferred; more disk."),
    "checkpoints.keep": Note("More: more to go back to, more disk.", "checkpoints"),
    "checkpoints.best": Note("On: one more network on disk, chosen by validation."),
    "checkpoints.keep_every": Note("Shorter: more to go back to, more disk.", "steps or epochs"),
    "record.landscape": Note("On: figure 2 can be drawn; more time.", "", "section 4, figure 2"),
    "record.boundary": Note("On: figure 3 can be drawn; more time.", "", "section 4, figure 3"),
    "record.audit": Note(
        "Set: the history tells what edits gained by themselves; two more steps for each of it.",
        "steps or epochs",
    ),
    "track.tensorboard.enabled": Note("On: curves in TensorBoard; needs the extra tensorboard."),
    "track.mlflow.enabled": Note("On: a run in MLflow; needs the extra mlflow."),
    "track.wandb.enabled": Note("On: a run in Weights & Biases; needs the extra wandb."),
    "track.wandb.mode": Note("offline needs no network during the run."),
    "transfer.head": Note(
        "`keep` needs equal classes; `zero` starts from even odds; `fresh` from noise.",
        "",
        "section 4",
    ),
    "transfer.inputs": Note("`fresh` serves other inputs and loses what the first layer learned."),
    "transfer.optimizer": Note("`keep` goes on with momentum that belongs to other data."),
    "transfer.curvature": Note("`keep` starts with a curvature of other data, which is forgotten."),
    "transfer.freeze": Note("More frozen: less to train, less that can adapt."),
}


def _under(section: str, notes: dict[str, Note]) -> dict[str, Note]:
    return {f"{section}.{name}": note for name, note in notes.items()}


NOTES: dict[str, Note] = {
    **_REST,
    **_under("data", _DATA),
    **_under("network", _NETWORK),
    **_under("loss", _LOSS),
    **_under("optimizer", _OPTIMIZER),
    **_under("curvature", _CURVATURE),
    **_under("expansion", _EXPANSION),
    **_under("training", _TRAINING),
}
"""By dotted name."""
