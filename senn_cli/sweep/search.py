"""Settings that Optuna proposes from what came of those before: ask and tell, over a journal file.

What is proposed is a function of the seed, the trial's number and the trials before it: with one
member at a time a search that was killed ends as one that was left alone. A member is made from its
trial's parameters alone, so that one whose sweep was killed between two writes is made again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from senn_cli.errors import SennError
from senn_cli.extras import require
from senn_cli.report.comparison import value
from senn_cli.report.record import read_record
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.jsonl import last_row
from senn_cli.spec.errors import Fault, InvalidSpecError
from senn_cli.spec.sweep import RangeSpec, SearchSpec
from senn_cli.sweep.choices import drawn, origins, words
from senn_cli.sweep.draws import value_at
from senn_cli.sweep.folder import Folder
from senn_cli.sweep.plan import Member, directory, resolved
from senn_cli.sweep.read import Sweep

JOURNAL = "optuna.journal"
"""What Optuna knows, in the folder; its own tools read it."""


def sample(sweep: Sweep) -> Member:
    """A member at one end of all ranges, to see whether specs of these options are valid.

    Raises:
      SpecError: they are not, or their runs would have no validation part.
    """
    search = _search_of(sweep)
    member = member_of(sweep, 0, {n: value_at(span, 0.0) for n, span in search.options.items()})
    assert member.spec is not None
    if not member.spec.data.validation:
        place = sweep.root.value["search"]
        told = f"search needs {search.metric} of every run, and data.validation is 0"
        raise InvalidSpecError([Fault(place.origin, place.line, (), told)])
    return member


def member_of(sweep: Sweep, number: int, parameters: Mapping[str, Any]) -> Member:
    """The member of a trial.

    Raises:
      SpecError: the parameters do not go together.
    """
    places = origins(sweep.root, "search")
    choice = [drawn(option, found, places[option]) for option, found in parameters.items()]
    told = [(option.rpartition(".")[2], found) for option, found in parameters.items()]
    name, seed = words(told), sweep.described.seeds[0]
    spec = resolved(sweep, tuple(choice), name, seed)
    return Member(number, directory(number, name, seed), name, seed, spec)


class Searched:
    """Members that Optuna proposes.

    Args:
      folder: of the sweep.
      sweep: whose `search` says what is proposed.
      described: what the folder says of the sweep.
      say: is told of proposals that make no spec.

    Raises:
      UsageError: Optuna is not installed.
    """

    def __init__(
        self,
        folder: Folder,
        sweep: Sweep,
        described: dict[str, Any],
        say: Callable[[str], None],
    ) -> None:
        self._optuna = require("optuna", "A search", extra="optuna")
        self._optuna.logging.set_verbosity(self._optuna.logging.WARNING)
        journal = require("optuna.storages.journal", "A search", extra="optuna")
        self._folder, self._sweep, self._described, self._say = folder, sweep, described, say
        self._search = _search_of(sweep)
        backend = journal.JournalFileBackend(str(folder.path / JOURNAL))
        largest = self._search.metric.endswith("accuracy")
        self._study = self._optuna.create_study(
            study_name="sweep",
            storage=self._optuna.storages.JournalStorage(backend),
            direction="maximize" if largest else "minimize",
            pruner=_pruner(self._optuna, self._search),
            load_if_exists=True,
        )
        self._spans = {
            option: _distribution(self._optuna, span)
            for option, span in self._search.options.items()
        }
        self._members: list[Member] = []
        self._trials: dict[str, Any] = {}
        self._reported: dict[int, int] = {}  # the newest step, by the trial's number
        self._open: deque[Any] = deque()
        for known in self._study.get_trials(deepcopy=False):
            if known.state == self._optuna.trial.TrialState.RUNNING:
                self._reported[known.number] = known.last_step or -1
                # By the identity that the storage gives, as an ask would have it.
                self._open.append(self._optuna.trial.Trial(self._study, known._trial_id))
            else:
                self._remember(known.number, known.params)

    def take(self) -> Member | None:
        """The next trial: one that a killed sweep has left, or a new one."""
        while True:
            if self._open:
                trial = self._open.popleft()
            elif len(self._study.get_trials(deepcopy=False)) < self._search.optuna:
                trial = self._ask()
            else:
                return None
            parameters = {option: trial.params[option] for option in self._search.options}
            try:
                member = self._folder.keep(member_of(self._sweep, trial.number, parameters))
            except SennError as error:
                self._say(f"not made: trial {trial.number}: {error.message}")
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
                continue
            self._trials[member.name] = trial
            self._members.append(member)
            self._folder.write(self._described, sorted(self._members, key=lambda m: m.number))
            if self._folder.standing(member) == "unfinished":
                return member
            self.ended(member, failed=False)  # its sweep was killed before it could tell

    def ended(self, member: Member, failed: bool) -> None:
        """Tells Optuna what came of it."""
        trial, states = self._trials.pop(member.name), self._optuna.trial.TrialState
        standing = self._folder.standing(member)
        result = None
        if standing == "finished" and not failed:
            result = value(read_record(self._folder.run(member)), self._search.metric)
            if result is None:
                self._say(f"{member.name} has no {self._search.metric}, so it tells nothing")
        if result is not None:
            self._study.tell(trial, result)
        else:
            self._study.tell(trial, state=states.PRUNED if standing == "pruned" else states.FAIL)

    def hopeless(self, member: Member) -> bool:
        """Whether Optuna would stop it, by its newest validation."""
        trial = self._trials[member.name]
        row = last_row(RunDirectory(self._folder.run(member)).metrics_path) or {}
        found = row.get(self._search.metric)
        if found is None or self._search.prune == "none":
            return False
        step = int(row["step"])
        if step <= self._reported.get(trial.number, -1):
            return False
        self._reported[trial.number] = step
        trial.report(float(found), step)
        return bool(trial.should_prune())

    def left(self) -> int:
        """Trials that have not been asked for."""
        asked = len(self._study.get_trials(deepcopy=False)) - len(self._open)
        return max(0, self._search.optuna - asked)

    @property
    def lost(self) -> tuple[Member, ...]:
        """None: trials that make no spec are told as they come."""
        return ()

    @property
    def best(self) -> str | None:
        """The best trial in words; None where none has finished."""
        complete = (self._optuna.trial.TrialState.COMPLETE,)
        if not self._study.get_trials(deepcopy=False, states=complete):
            return None
        best = self._study.best_trial
        name = member_of(self._sweep, best.number, best.params).name
        return f"best: {name}, {self._search.metric.replace('_', ' ')} {best.value:.4g}"

    def _ask(self) -> Any:
        number = len(self._study.get_trials(deepcopy=False))
        samplers, seed = self._optuna.samplers, self._search.seed * 1_000_003 + number
        made = samplers.TPESampler if self._search.sampler == "tpe" else samplers.RandomSampler
        self._study.sampler = made(seed=seed % 2**32)
        return self._study.ask(self._spans)

    def _remember(self, number: int, parameters: Mapping[str, Any]) -> None:
        try:
            self._members.append(member_of(self._sweep, number, parameters))
        except SennError:
            return  # it was told when it was asked for


def _search_of(sweep: Sweep) -> SearchSpec:
    assert sweep.described.search is not None
    return sweep.described.search


def _pruner(optuna: Any, search: SearchSpec) -> Any:
    pruners = optuna.pruners
    return pruners.NopPruner() if search.prune == "none" else pruners.MedianPruner()


def _distribution(optuna: Any, span: RangeSpec) -> Any:
    found = optuna.distributions
    if span.choices is not None:
        return found.CategoricalDistribution(span.choices)
    assert span.low is not None and span.high is not None
    log = span.scale == "log"
    if span.whole:
        return found.IntDistribution(int(span.low), int(span.high), log=log)
    return found.FloatDistribution(float(span.low), float(span.high), log=log)
