"""Any spec, written out and read again, is the same; so are its JSON schema's short forms."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.spec import Spec, dump_spec, json_schema, parse_spec

positive = st.floats(min_value=1e-300, max_value=1e38)
not_negative = st.one_of(st.just(0.0), positive)
fraction = st.floats(min_value=0, max_value=1, exclude_max=True)
count = st.one_of(st.integers(1, 1000), st.integers(1, 2**31 - 1))
few = st.integers(1, 4096)
limit = st.one_of(st.none(), st.integers(10**6, 10**9))
tricky = st.sampled_from(
    ["no", "null", "1e3", "017", "2024-01-01", "12:30", "0x1F", "0o17", "true", "3", ".5e1", "n.a"]
)
word = st.text(alphabet=string.ascii_letters + string.digits + "_äßλ数字", min_size=1, max_size=9)
text = st.one_of(tricky, st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
steps = st.builds(lambda n: {"steps": n}, count)
epochs = st.builds(lambda x: {"epochs": x}, st.floats(min_value=1e-300, max_value=1e9))
duration = st.one_of(steps, epochs)
maybe = st.one_of(st.none(), duration)
file = st.builds(lambda name: f"/data/{name}", text.filter(lambda name: "\0" not in name))


def section(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional=optional)


common = {
    "validation": st.one_of(st.floats(0, 0.4), st.integers(1, 9)),
    "subset": st.one_of(st.none(), count, st.floats(0, 1, exclude_min=True)),
    "normalize": st.sampled_from(["auto", "per_feature", "global", "none"]),
}
share_of_images = st.floats(0, 1)
factors = st.lists(st.floats(0, 9), min_size=2, max_size=2).map(sorted)
turns = section(
    {"kind": st.just("rotate")}, {"degrees": st.floats(0, 180), "probability": share_of_images}
)
simple = st.one_of(
    st.just("flip"),
    turns,
    section({"kind": st.just("scale"), "high": st.just(3)}, {"low": st.floats(0.1, 3)}),
    section({"kind": st.just("color")}, {"saturation": factors, "brightness": share_of_images}),
)
cropped = st.lists(turns, max_size=2).map(lambda inner: ["pad", *inner, {"kind": "crop"}])
augment = st.one_of(
    st.none(),
    st.just("paper"),
    cropped,
    st.lists(
        st.one_of(
            simple,
            st.builds(
                lambda share, apply: {"kind": "some", "share": share, "apply": apply},
                share_of_images,
                st.one_of(cropped, st.lists(simple, max_size=2)),
            ),
        ),
        max_size=3,
    ),
)
images = {
    **common,
    "normalize": st.sampled_from(["auto", "per_channel", "per_feature", "global", "none"]),
    "augment": augment,
    "size": st.one_of(st.none(), st.integers(1, 4096)),
    "channels": st.sampled_from([1, 3]),
}
share = st.one_of(st.floats(0, 0.5, exclude_min=True), count)
task = st.sampled_from(["classification", "regression", "multilabel"])
own = {**common, "task": task}
test_part = st.one_of(
    st.builds(lambda x: {"test": x}, share), st.builds(lambda x: {"test_path": x}, file)
)
column = st.one_of(text, st.integers(1, 999))
columns = st.one_of(column, st.lists(column, min_size=1, max_size=3, unique=True))
some_columns = st.lists(column, max_size=3, unique=True)
table = {
    **own,
    "weights": st.one_of(st.none(), column),
    "columns": st.one_of(st.none(), some_columns),
    "drop": some_columns,
    "categories": st.one_of(st.just("auto"), some_columns),
    "missing": st.sampled_from(["refuse", "drop", "mean", "median", "most_frequent"]),
}
data = st.one_of(
    section({"source": st.just("digits")}, {**common, "test": share}),
    section(
        {"source": st.just("moons"), "train": st.integers(10, 999)},
        {**common, "test": st.integers(1, 10**7), "noise": not_negative},
    ),
    section(
        {"source": st.just("regression"), "train": st.integers(10, 999)},
        {**common, "noise": not_negative, "hidden": st.lists(st.integers(1, 512), max_size=3)},
    ),
    section({"source": st.sampled_from(["mnist", "fashion_mnist"])}, {**common, "root": file}),
    section({"source": st.just("cifar10")}, {**images, "root": file}),
    section(
        {"source": st.just("cifar100")}, {**images, "labels": st.sampled_from(["fine", "coarse"])}
    ),
    section(
        {"source": st.just("tiny_imagenet")},
        {
            **images,
            "classes": st.one_of(
                st.none(), st.integers(2, 200), st.lists(text, min_size=2, max_size=3, unique=True)
            ),
            "per_class": st.one_of(st.none(), count),
        },
    ),
    section({"source": st.just("folder"), "path": file}, {**images, "test": share}),
    st.builds(
        dict.__or__,
        section(
            {"source": st.just("npz"), "path": file},
            {**own, "inputs": text, "weights": st.one_of(st.none(), text)},
        ),
        test_part,
    ),
    st.builds(
        dict.__or__,
        section(
            {"source": st.just("csv"), "path": file, "target": columns},
            {
                **table,
                "delimiter": st.one_of(st.just("auto"), st.characters(exclude_categories=["Cs"])),
                "header": st.one_of(st.sampled_from(["auto", "none"]), st.integers(1, 99)),
            },
        ),
        test_part,
    ),
    st.builds(
        dict.__or__,
        section({"source": st.just("parquet"), "path": file, "target": columns}, table),
        test_part,
    ),
    section({"source": st.just("sklearn"), "name": st.sampled_from(["iris", "diabetes"])}, table),
    section(
        {"source": st.just("sklearn"), "openml": text},
        {**table, "test": share, "version": st.one_of(st.none(), few)},
    ),
    section(
        {"source": st.just("huggingface"), "name": text},
        {
            **table,
            "augment": augment,
            "config": text,
            "split": text,
            "test_split": st.one_of(st.none(), text),
            "validation_split": st.one_of(st.none(), text),
        },
    ),
)
hidden = st.lists(st.integers(1, 500), max_size=4)
multiple = st.one_of(st.just("auto"), few)
network = hidden.flatmap(
    lambda widths: section(
        {"kind": st.just("mlp"), "hidden": st.just(widths)},
        {
            "activation": st.sampled_from(["rational", "silu", "tanh"]),
            "capacity": section(
                {},
                {
                    "multiple": multiple,
                    "growth": st.floats(min_value=1e-3, max_value=100),
                    "initial": st.one_of(st.none(), st.just([width * 2 for width in widths])),
                },
            ),
        },
    )
)
# No warm-up can be longer than the training below.
schedule = section(
    {"kind": st.just("cosine")},
    {"final": st.floats(0, 1), "warmup": st.one_of(st.none(), st.just({"steps": 1}))},
) | section({"kind": st.just("one_cycle")}, {"final": st.floats(0, 1), "cycles": st.just(3)})
schedule |= section({"kind": st.just("wsd")}, {"decay": st.floats(0.1, 1)})
optimizer = st.one_of(
    section(
        {"kind": st.just("natural_gradient")},
        {
            "preset": st.sampled_from(["fast", None]),
            "learning_rate": positive,
            "damping": positive,
            "momentum": fraction,
            "metric": st.sampled_from(["auto", "euclidean"]),
            "kl_clip": st.one_of(st.none(), positive),
            "moving_average": fraction,
            "invert_every": count,
            "fixed_input_factor": st.booleans(),
            "schedule": schedule,
        },
    ),
    section(
        {"solver": st.just("cg")}, {"cg_iterations": st.integers(1, 10**6), "damping": positive}
    ),
    section(
        {"kind": st.just("adam")},
        {"learning_rate": positive, "b1": fraction, "eps": positive, "schedule": schedule},
    ),
    section(
        {"kind": st.just("sgd"), "momentum": fraction.filter(bool)}, {"nesterov": st.booleans()}
    ),
    section({"kind": st.sampled_from(["adamw", "lion"])}, {"b2": fraction, "schedule": schedule}),
    section({"kind": st.just("muon")}, {"beta": fraction, "nesterov": st.booleans()}),
)
method = st.sampled_from(["closed_form", "gradient_ascent", "mala"])
dormant = {
    "proposals": st.just("dormant"),
    "depth": st.just(False),
    "stop": not_negative,
    "dormant": section(
        {},
        {"activate": st.floats(0, 1), "slow": st.floats(1e-9, 1), "neurons": st.integers(1, 2**20)},
    ),
}
expansion = (
    st.just("none")
    | section(dormant, {"noise": not_negative})
    | section(
        {},
        {
            "policy": st.sampled_from(["senn", "random"]),
            "threshold": not_negative,
            "stop": not_negative,
            "every": duration,
            "start": maybe,
            "thin_to": st.none() | st.just({"steps": 10**8}) | st.just({"epochs": 1e9}),
            "samples": count,
            "score_on": st.sampled_from(["held_out", "searched"]),
            "bias_removed": st.booleans(),
            "max_hidden": limit,
            "max_parameters": limit,
            "width": section({}, {"method": method, "per_round": limit, "max_width": limit}),
            "depth": section({}, {"method": method, "every": maybe, "layer_cost": positive}),
        },
    )
)
training = st.builds(
    dict.__or__,
    st.one_of(
        duration, st.builds(lambda x: {"minutes": x}, st.floats(min_value=1e-9, max_value=1e9))
    ),
    section(
        {},
        {"batch_size": st.one_of(st.sampled_from(["auto", "full"]), count), "evaluate": duration},
    ),
)
checkpoints = st.one_of(
    st.booleans(),
    section(
        {},
        {
            "every": st.one_of(
                duration,
                st.builds(lambda x: {"minutes": x}, st.floats(min_value=1e-9, max_value=1e9)),
            ),
            "growth": st.booleans(),
            "keep": count,
            "best": st.sampled_from([None, "train_loss"]),  # every run has it
            "keep_every": maybe,
        },
    ),
)


def consistent(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with a schedule that goes with the rest of it, and without what then is not read."""
    own = {"kind": "natural_gradient", **spec.get("optimizer", {})}
    if "minutes" in spec.get("training", {}):
        own["schedule"] = "constant"
    network = dict(spec["network"])
    if spec.get("expansion") == "none" and "capacity" in network:
        network["capacity"] = {**network["capacity"]}
        network["capacity"].pop("growth", None)
    growth = spec.get("expansion")
    if isinstance(growth, dict) and network["hidden"] == [] and growth.get("depth") is False:
        growth = "random"  # nothing there that could be widened
    grown = {} if growth is None else {"expansion": growth}
    return {**spec, **grown, "optimizer": own, "network": network}


specs = section(
    {"data": data, "network": network},
    {
        "name": st.one_of(word, tricky.filter(lambda name: ":" not in name and name[0] != ".")),
        "seed": st.integers(0, 2**32 - 1),
        "device": st.sampled_from(["auto", "cpu", "gpu"]),
        "gpu_memory": st.one_of(st.none(), st.floats(0, 1, exclude_min=True)),
        "deterministic": st.booleans(),
        "optimizer": optimizer,
        "expansion": expansion,
        "training": training,
        "checkpoints": checkpoints,
        "transfer": section(
            {},
            {
                "head": st.sampled_from(["zero", "fresh", "keep"]),
                "inputs": st.sampled_from(["keep", "fresh"]),
                "optimizer": st.sampled_from(["reset", "keep"]),
            },
        ),
        "record": section({}, {"landscape": st.booleans(), "boundary": st.booleans()}),
    },
).map(consistent)


@settings(max_examples=200)
@given(specs)
def test_round_trip(value: dict[str, Any]) -> None:
    spec = Spec.model_validate(value, context={"base_dir": Path("/base")})
    written = dump_spec(spec)
    again = parse_spec(written, "other.yaml", Path("/other"))
    assert again == spec
    assert hash(again) == hash(spec)
    assert dump_spec(again) == written


def test_written_for_readers_of_yaml_1_1_too() -> None:
    spec = parse_spec("name: '017'\ndata: {source: csv, path: /x, target: 'no'}\nnetwork: mlp\n")
    value = yaml.safe_load(dump_spec(spec))
    assert value["name"] == "017"
    assert value["data"]["target"] == "no"
    assert value["expansion"]["score_damping"] == 1e-3


def test_every_default_is_written() -> None:
    value = yaml.safe_load(dump_spec(parse_spec("data: digits\nnetwork: mlp\n", "mine.yaml")))
    assert value["name"] == "mine"
    assert value["data"]["test"] == 0.2
    assert value["network"] == {
        "kind": "mlp",
        "hidden": [10],
        "activation": "rational",
        "dropout": 0.0,
        "compute": "float32",
        "capacity": {"multiple": "auto", "growth": 0.5, "initial": None},
    }
    assert value["optimizer"]["learning_rate"] == 0.3
    assert value["expansion"]["threshold"] == 7e-3
    assert value["expansion"]["every"] == {"epochs": 1}
    assert value["training"] == {
        "epochs": 20,
        "least_steps": 300,
        "batch_size": "auto",
        "clip": None,
        "evaluate": {"epochs": 1},
        "stop": None,
    }


def _fields(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    parts = [schema, *schema["$defs"].values()]
    return [item for part in parts for item in part.get("properties", {}).items()]


def test_every_field_of_the_schema_is_described() -> None:
    fields = _fields(json_schema())
    assert len(fields) > 80
    assert [name for name, field in fields if not field.get("description")] == []


def test_the_schema_knows_the_short_forms() -> None:
    schema = json_schema()
    data = schema["properties"]["data"]["anyOf"]
    assert {"digits", "mnist", "cifar10"} <= set(data[1]["enum"])
    augment = schema["$defs"]["Cifar10Spec"]["properties"]["augment"]["anyOf"]
    assert augment[1]["enum"] == ["paper", None]
    assert schema["properties"]["network"]["anyOf"][1]["enum"] == ["mlp", "densenet"]
    assert schema["properties"]["optimizer"]["anyOf"][1]["enum"][0] == "natural_gradient"
    assert len(schema["properties"]["optimizer"]["anyOf"][0]["oneOf"]) == 7
    assert schema["required"] == ["data", "network"]
    assert schema["additionalProperties"] is False
    width = schema["$defs"]["SearchSpec"]["properties"]["width"]["anyOf"]
    assert width[1]["type"] == "boolean"
    assert schema["$defs"]["StandingSpec"]["properties"]["every"]["anyOf"][1]["type"] == "string"


def test_paths_beside_the_spec_are_written_relative_to_it(tmp_path: Path) -> None:
    here, away = tmp_path / "run", tmp_path / "away.npz"
    text = f"data: {{source: npz, path: {here}/data.npz, test_path: {away}}}\nnetwork: mlp\n"
    written = dump_spec(parse_spec(text), here)
    value = yaml.safe_load(written)["data"]
    assert (value["path"], value["test_path"]) == ("data.npz", str(away))
    assert parse_spec(written, base_dir=here) == parse_spec(text)
    moved = parse_spec(written, base_dir=tmp_path / "moved")
    assert moved.data.path == tmp_path / "moved" / "data.npz"
