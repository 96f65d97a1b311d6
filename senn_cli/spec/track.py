"""The `track` section: where a run's metrics go beside its own files."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from senn_cli.spec.base import AlsoAccepts, Model, fault
from senn_cli.spec.describe import describe
from senn_cli.spec.paths import BASE_DIRECTORY, SpecPath

_SQLITE = "sqlite:///"
_NOT_IN_PROJECT = "/\\#?%:"


def _text(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip():
        raise fault(f"should be a text that is not empty, found {describe(value)}")
    return value


def _uri(value: str, info: ValidationInfo) -> str:
    try:
        secret = urlsplit(value).password is not None
    except ValueError:
        raise fault(f"should be a URI, found {describe(value)}") from None
    if secret:  # which the message must not repeat
        raise fault(
            "should hold no password, as a run keeps its spec; leave it out and set "
            "MLFLOW_TRACKING_URI"
        )
    if value.startswith(_SQLITE) and value != _SQLITE:
        # As with all paths of a spec, what it means must not depend on where senn is called.
        base = (info.context or {}).get(BASE_DIRECTORY) or Path.cwd()
        return _SQLITE + os.path.abspath(Path(base) / value.removeprefix(_SQLITE))
    return value


def _project(value: str) -> str:
    if any(letter in value for letter in _NOT_IN_PROJECT):
        raise fault(f"should have none of {' '.join(_NOT_IN_PROJECT)}, found {describe(value)}")
    return value


_Text = Annotated[str, BeforeValidator(_text)]


class _Output(Model):
    """A section that `true` and `false` switch on and off; on when it is written."""

    enabled: bool = Field(default=True, description="Whether the run writes there.")

    @model_validator(mode="before")
    @classmethod
    def _from_bool(cls, value: Any) -> Any:
        return {"enabled": value} if isinstance(value, bool) else value


class TensorBoardSpec(_Output):
    """Event files for TensorBoard."""

    directory: SpecPath | None = Field(
        default=None,
        description="A directory that several runs share, each in a folder with its own name; null "
        "for `tensorboard` in the run's directory.",
    )


class MLflowSpec(_Output):
    """A run of MLflow."""

    uri: Annotated[_Text, AfterValidator(_uri)] | None = Field(
        default=None,
        description="The tracking server or store, such as `http://localhost:5000` or "
        "`sqlite:///mlflow.db`; null for MLFLOW_TRACKING_URI or else MLflow's own default.",
    )
    experiment: _Text = Field(
        default="senn", description="The experiment, which is made where it is missing."
    )


class WandbSpec(_Output):
    """A run of Weights & Biases."""

    project: Annotated[_Text, AfterValidator(_project)] = Field(
        default="senn", description="The project."
    )
    entity: _Text | None = Field(
        default=None, description="The user or team; null for the default of the account."
    )
    mode: Literal["online", "offline"] | None = Field(
        default=None,
        description="`offline` writes files alone, which `wandb sync` sends later; null for "
        "WANDB_MODE or else `online`.",
    )


_OnOff = AlsoAccepts(type="boolean", description="On or off, the options as by default.")


class TrackSpec(Model):
    """Outputs of the metrics beside the run's own files; each needs a package of its own."""

    tensorboard: Annotated[TensorBoardSpec, _OnOff] = Field(
        default=TensorBoardSpec(enabled=False), description="Event files for TensorBoard."
    )
    mlflow: Annotated[MLflowSpec, _OnOff] = Field(
        default=MLflowSpec(enabled=False), description="A run of MLflow."
    )
    wandb: Annotated[WandbSpec, _OnOff] = Field(
        default=WandbSpec(enabled=False), description="A run of Weights & Biases."
    )
