// A name in a legend, a tooltip or a sentence: not longer than there is room for, and with letters
// that run from right to left, or that turn the direction, kept to itself.
const TURNS = /[\u0590-\u08ff\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;

function shortly(text, most = 48) {
  const letters = [...text];
  const short = letters.length > most ? `${letters.slice(0, most - 1).join("")}\u2026` : text;
  return TURNS.test(short) ? `\u2068${short}\u202c\u2069` : short;
}

// The resolved spec, and the environment.
function specSection(run, prefix) {
  return section(`${prefix}spec`, "Resolved spec",
    el("p", { class: "soft" }, "With every default; as a file of its own it can be run again."),
    el("pre", { tabindex: "0", "aria-label": "spec.yaml" }, run.spec));
}

function environmentSection(run, prefix) {
  if (!run.environment.length) return section(`${prefix}environment`, "Environment", empty("No environment was recorded."));
  return section(`${prefix}environment`, "Environment",
    el("table", { class: "pairs" }, el("tbody", {}, run.environment.map(([label, value]) =>
      el("tr", {}, el("th", { scope: "row" }, label), el("td", {}, value))))));
}
