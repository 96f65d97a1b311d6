// What the network answers: figures, confusions, calibration, examples, as senn evaluate left them.
const MEASURES = [
  ["accuracy", "accuracy", percent],
  ["exact", "all labels right", percent],
  ["f1", "F1", percent],
  ["top5_accuracy", "in the first five", percent],
  ["loss", "loss", (value) => number(value, 4)],
  ["mse", "mean squared error", (value) => number(value, 4)],
  ["mae", "mean absolute error", (value) => number(value, 4)],
];

function labelsPart(found) {
  if (!found.labels.length) return null;
  return [
    el("h3", {}, "Every label"),
    plainTable(["label", "accuracy", "precision", "recall", "F1", "examples"],
      found.labels.map(([name, ...figures]) => [name, ...figures.slice(0, -1).map((value) => (value === null ? "\u2013" : percent(value))), whole(figures[figures.length - 1])])),
  ];
}

function evaluationSection(run, prefix) {
  const title = "Right and wrong answers", { found, command } = run.evaluation;
  if (!found) {
    const how = run.status === "running" ? "When the run has ended, " : "";
    return section(`${prefix}evaluation`, title,
      el("p", { class: "empty" }, `${how}${how ? "this" : "This"} command measures its network and has confusions, calibration and examples shown here: `, el("code", {}, command)));
  }
  const figures = MEASURES.filter(([key]) => found.measures[key] !== undefined).map(([key, name, form]) => `${name} ${form(found.measures[key])}`);
  const part = { test: "test", train: "training" }[found.split] || found.split;
  return section(`${prefix}evaluation`, title,
    el("p", { class: "soft" }, `On ${count(found.examples, `${part} example`)}: ${figures.join(", ")}.`,
      found.old ? [" The run has gone on since; measure it again by ", el("code", {}, command)] : null),
    labelsPart(found), confusionPart(found), predictionsPart(found), examplesPart(found), calibrationPart(found));
}
