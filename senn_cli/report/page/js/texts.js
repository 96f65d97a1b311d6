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
