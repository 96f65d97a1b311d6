"""Examples of every command, which close its help: a line to copy, and what it does."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "": (
        ("senn demo", "grows a network on handwritten digits, to see how it goes"),
        ("senn new own-csv -o mine.yaml", "a spec for a table of your own"),
        ("senn train mine.yaml", "trains it; then inspect, report, evaluate or export"),
    ),
    "explain": (
        ("senn explain", "the sections of a spec"),
        ("senn explain expansion.threshold", "one option: what it is, takes and trades"),
        ("senn explain optimizer --kind adam", "the options of one member of a section"),
    ),
    "demo": (
        ("senn demo", "a network grows on handwritten digits; nothing is downloaded"),
        ("senn demo --seed 1 --run-dir runs/demo", "another split, into a folder of that name"),
    ),
    "train": (
        ("senn train specs/quickstart.yaml", "into a new folder in runs/"),
        ("senn train mine.yaml --set training.epochs=20 --seed 3", "with other values"),
        ("senn train mine.yaml --dry-run", "shows layers, steps and memory alone"),
        ("senn train mine.yaml --run-dir runs/m --resume auto", "starts it, or goes on with it"),
    ),
    "resume": (
        ("senn resume runs/m", "goes on to the end"),
        ("senn resume runs/m --set training.epochs=80", "makes it longer"),
        ("senn resume runs/m --step 580 --branch runs/m2", "goes another way from there"),
    ),
    "sweep": (
        ("senn sweep mine.yaml --seeds 5", "five seeds of a spec"),
        (
            "senn sweep mine.yaml --set network.hidden=[4],[8] --control static",
            "two values of an option, and fixed networks of those shapes",
        ),
        ("senn sweep sweep.yaml --dry-run", "the members of a sweep file, all checked"),
    ),
    "reproduce": (
        ("senn reproduce --list", "the figures, what each runs and about how long"),
        ("senn reproduce figure-3", "trains what it shows and draws it, in runs/figure-3"),
        ("senn reproduce figure-5 --small", "what two cores can do of it"),
    ),
    "transfer": (
        ("senn transfer --from runs/m other.yaml", "grows the network on another task"),
        (
            "senn transfer --from runs/m other.yaml --set expansion.policy=none",
            "the same without growth, to compare with",
        ),
    ),
    "launch": (
        ("senn launch --slurm --gpus 1 mine.yaml", "writes the script of a job"),
        ("senn launch --slurm --time 8:00:00 mine.yaml --submit", "submits it as well"),
    ),
    "runs": (
        ("senn runs", "all runs in runs/, the newest first"),
        ("senn runs --sort result --status finished", "the best one first"),
    ),
    "compare": (
        ("senn compare runs/a runs/b", "where the specs differ, and what came of it"),
        ("senn compare runs --json", "all runs in a folder, for a script"),
    ),
    "report": (
        ("senn report runs/m --open", "writes runs/m/report.html and shows it"),
        ("senn report runs/a runs/b -o both.html", "two runs side by side"),
        ("senn report runs", "all runs in a folder"),
    ),
    "watch": (
        ("senn watch runs/m --open", "the page about a run, while it goes on"),
        ("senn watch runs", "all runs in a folder, also those that come later"),
    ),
    "plot": (
        ("senn plot growth runs/m", "writes runs/m/growth.svg"),
        ("senn plot loss runs/a runs/b -o loss.pdf", "two runs in one figure"),
        ("senn plot improvement runs/a --baseline runs/b", "how much better one is"),
    ),
    "evaluate": (
        ("senn evaluate runs/m", "on the test part"),
        ("senn evaluate runs/m --data other.yaml --json", "on the data of another spec"),
    ),
    "predict": (
        ("senn predict runs/m new.csv -o out.csv", "a row for every row of a table"),
        ("senn predict runs/m pictures/ --probabilities", "for every image in a folder"),
    ),
    "export": (
        ("senn export runs/m --format onnx", "writes runs/m/export/onnx"),
        ("senn export runs/m --format flax -o network", "a folder that needs no senn"),
    ),
    "import": (
        ("senn import model.safetensors map.yaml -o imported", "map.yaml says what is what"),
        ("senn transfer --from imported other.yaml", "then grows it on"),
    ),
    "new": (
        ("senn new --list", "the templates, and what each is for"),
        ("senn new own-csv -o mine.yaml", "writes one of them to a file"),
    ),
    "validate": (
        ("senn validate mine.yaml", "every fault, with its line"),
        ("senn validate specs/*.yaml", "several at once"),
    ),
    "schema": (("senn schema -o spec.schema.json", "for an editor that completes and checks"),),
    "bench": (
        ("senn bench mine.yaml", "what a step, a round and compilation take on this machine"),
        ("senn bench mine.yaml --compile", "with every program: seconds, effort, cache"),
        ("senn bench mine.yaml --seconds 60 --json", "longer, for a script"),
    ),
    "doctor": (
        ("senn doctor", "what is there, what is missing, and what it would bring"),
        ("senn doctor --quick --json", "for a script"),
    ),
    "inspect": (
        ("senn inspect runs/m", "architecture, history, curves and the score's audit"),
        ("senn inspect history runs/m --rejected", "every decision with its reason"),
        ("senn inspect runs/m --follow", "of a run that goes on, until it ends"),
    ),
    "inspect overview": (
        ("senn inspect runs/m", "the subcommand's name can be left out"),
        ("senn inspect overview runs/m --json", "for a script"),
    ),
    "inspect history": (
        ("senn inspect history runs/m", "every edit in a row of its own"),
        ("senn inspect history runs/m --rejected", "and what was decided against, and why"),
    ),
    "inspect architecture": (
        ("senn inspect architecture runs/m", "as it is now"),
        ("senn inspect architecture runs/m --step 580", "as it was"),
    ),
    "data": (
        ("senn data list", "what `data` can name in a spec"),
        ("senn data check mine.yaml", "what is odd about the data of a spec"),
    ),
    "data list": (("senn data list --json", "for a script"),),
    "data fetch": (
        ("senn data fetch mnist", "into the user's cache, where a spec finds it"),
        ("senn data fetch cifar10 --to data", "into data/cifar10; then SENN_DATA=data"),
    ),
    "data check": (
        ("senn data check mine.yaml", "sizes, ranges, classes, and what is odd"),
        ("senn data check mine.yaml --set data.subset=10%", "of a tenth of them"),
    ),
}
"""By the words of a command behind `senn`: the line, and what it does in a few words."""
