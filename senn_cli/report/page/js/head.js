// The head of a run: name, status, what grew, figures.
function headOf(run) {
  return el("header", {},
    el("div", { class: "title" },
      el("h1", {}, run.label),
      el("span", { class: `status status-${run.status}` }, run.status)),
    el("p", { class: "path" }, run.path),
    el("p", { class: "lead" }, run.sentence),
    run.note ? el("p", { class: "soft" }, run.note) : null,
    el("dl", { class: "facts" }, run.facts.map(([label, value]) =>
      el("div", {}, el("dt", {}, label), el("dd", {}, value)))));
}

const SECTIONS = [
  ["growth", "Growth"],
  ["network", "Network"],
  ["curves", "Curves"],
  ["evaluation", "Answers"],
  ["scores", "Scores"],
  ["gains", "Gains"],
  ["seconds", "Time"],
  ["decisions", "Decisions"],
  ["spec", "Spec"],
  ["environment", "Environment"],
];

function jumps(prefix) {
  return el("nav", { class: "jump", "aria-label": "Sections" }, SECTIONS.map(([id, text]) =>
    el("a", {
      href: `#${prefix}${id}`,
      onclick: (event) => {
        event.preventDefault(); // the address keeps naming the tab
        document.getElementById(prefix + id).scrollIntoView();
      },
    }, text)));
}

// Steps or epochs along x; nothing to choose where they are the same.
function unitChoice(runs) {
  if (!runs.every((run) => run.per_epoch) || runs.every((run) => run.per_epoch === 1)) return null;
  return el("div", { class: "unit" }, el("span", {}, "Along x:"),
    choice("Unit of the x axes", [["step", "steps"], ["epoch", "epochs"]], settings.unit, (unit) => {
      settings.unit = unit;
      redrawAll();
    }));
}
