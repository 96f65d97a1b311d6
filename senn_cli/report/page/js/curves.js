// Loss and accuracy over time, with the growth as thin lines.
function lossUnit(runs) {
  return runs.every((run) => run.figure === "mse") ? "half squared error" : runs.some((run) => run.figure === "mse") ? "nats, or half squared error" : "nats";
}

const FIGURES = [
  ["validation_accuracy", "accuracy", "validation accuracy (%)", percent],
  ["validation_mse", "mse", "validation mean squared error", (value) => number(value, 4)],
];

function accuracyScale(values) {
  const low = least(values), room = 0.05 * (greatest(values) - low || 0.02);
  const inner = linear(100 * Math.max(0, low - room), 100 * Math.min(1, greatest(values) + room));
  return { ...inner, at: (value) => inner.at(100 * value), back: (share) => inner.back(share) / 100, ticks: (n) => inner.ticks(n).map(([value, text]) => [value / 100, text]) };
}

function testText(run) {
  if (run.test.accuracy !== null) return `: test accuracy ${percent(run.test.accuracy)}`;
  return run.test.mse === null ? "" : `: test mean squared error ${number(run.test.mse, 4)}`;
}

function curvesSection(run, prefix) {
  const title = "Loss and accuracy";
  if (!run.curves.step) return section(`${prefix}curves`, title, empty("No metrics have been recorded yet."));
  const off = keep(`${prefix}curves`, () => new Set());
  const plain = (value) => number(value, 4);
  const lines = [
    { run, key: "training", column: "train_loss", text: "training loss", paint: "var(--c0)", form: plain },
    { run, key: "validation", column: "validation_loss", text: "validation loss", paint: "var(--c5)", form: plain },
  ].filter((line) => run.curves[line.column]);
  const hosts = [], equal = equalText(lines);
  if (lines.length) {
    hosts.push(lineChart("Loss over the training", { title: `loss (${lossUnit([run])})`, lines, off, scale: lossScale, height: 200, events: run }));
  }
  const figure = FIGURES.find(([column]) => run.curves[column]);
  if (figure) {
    const [column, short, text, form] = figure;
    const measured = [{ run, key: "validation", column, text: text.replace(" (%)", ""), paint: "var(--c5)", form }];
    hosts.push(lineChart(`${text} over the training`, {
      title: text, lines: measured, off, height: 170, events: run,
      scale: short === "accuracy" ? accuracyScale : lossScale,
    }));
  }
  const entries = lines.map((line) => ({ key: line.key, text: line.key, sign: stroke(line.paint) }));
  if (run.rounds.some((round) => round.marks.includes("layer"))) entries.push({ text: "layer inserted", sign: stroke(null, "event event-layer") });
  if (run.rounds.some((round) => !round.marks.includes("layer"))) entries.push({ text: `${run.unit}s changed`, sign: stroke(null, "event") });
  return section(`${prefix}curves`, title,
    figure ? null : el("p", { class: "soft" }, `The run has no validation data, so that no ${run.figure === "mse" ? "error" : "accuracy"} was measured on the way; the test data are looked at once, at the end${testText(run)}.`),
    legend(entries, off, () => hosts.forEach((host) => host.redraw(true))),
    equal ? el("p", { class: "soft" }, equal) : null,
    run.curves.step.length < run.totals.rows ? el("p", { class: "soft" }, `Of ${whole(run.totals.rows)} rows ${whole(run.curves.step.length)} are drawn: those with the extremes of every stretch.`) : null,
    hosts);
}
