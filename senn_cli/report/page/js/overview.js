// Several runs in one picture: a table, their curves, and where their specs differ.
const OVERLAYS = [
  ["validation_accuracy", "validation accuracy (%)", percent, accuracyScale],
  ["validation_mse", "validation mean squared error", (value) => number(value, 4), lossScale],
  ["train_loss", "training loss", (value) => number(value, 4), lossScale],
  ["validation_loss", "validation loss", (value) => number(value, 4), lossScale],
  ["neurons", "hidden ", whole, (values) => linear(0, greatest(values, 1) * 1.04, { integer: true })],
];

// The unit of a column of these runs, for the title of its chart.
function unitAfter(column, runs) {
  return column.endsWith("loss") ? ` (${lossUnit(runs)})` : column === "neurons" ? unitsOf(runs) : "";
}

// A table of texts; long ones are wrapped, and many rows are scrolled within it.
function plainTable(columns, rows) {
  const cell = (tag, text, scope) => el(tag, { scope, class: text.length > 60 ? "long" : null }, text);
  return el("div", { class: rows.length > 25 ? "scroll tall" : "scroll", tabindex: "0", role: "region", "aria-label": columns[0] },
    el("table", { class: "plain" },
      el("thead", {}, el("tr", {}, columns.map((text) => cell("th", text, "col")))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((text, k) => (k ? cell("td", text) : cell("th", text, "row"))))))));
}

function overviewOf(data) {
  const { runs, comparison } = data;
  const off = keep("overview", () => new Set());
  const lines = (column, form) => runs.map((run, k) => ({
    run, column, form, key: run.label, text: shortly(run.label), paint: colour(k, runs.length),
  })).filter(({ run }) => run.curves[column]);
  const hosts = OVERLAYS.map(([column, title, form, scale]) => {
    const found = lines(column, form);
    if (!found.length) return null;
    const those = found.map(({ run }) => run);
    const unit = unitAfter(column, those);
    const equal = equalText(found);
    const host = lineChart(`${title + unit} of all runs`, { title: title + unit, lines: found, off, scale, height: 190 });
    return { host, note: equal ? el("p", { class: "soft" }, equal) : null };
  }).filter(Boolean);
  const entries = runs.map((run, k) => ({ key: run.label, text: shortly(run.label), title: run.label, sign: stroke(colour(k, runs.length)) }));
  const differ = comparison.differences;
  return el("div", {},
    el("header", {}, el("h1", {}, `${runs.length} runs`)),
    section("overview-table", "Results", plainTable(comparison.columns, comparison.rows)),
    section("overview-curves", "Curves",
      hosts.length ? [unitChoice(runs), legend(entries, off, () => hosts.forEach(({ host }) => host.redraw(true))), hosts.map(({ host, note }) => [host, note])] : empty("No metrics have been recorded yet.")),
    groupsSection(data),
    sidesSection(runs),
    section("overview-differences", "Where the specs differ",
      differ.length
        ? plainTable(["option", ...runs.map((run) => run.label)], differ.map(({ option, values }) => [option, ...values]))
        : empty("They are the same.")));
}
