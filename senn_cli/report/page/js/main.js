// The page: one run, or tabs for several with an overview in front.
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");

const PARTS = [growthSection, networkSection, curvesSection, evaluationSection, scoresSection, gainsSection, secondsSection, decisionsSection, specSection, environmentSection];

function runPage(run, prefix) {
  return el("div", {}, headOf(run), jumps(prefix), unitChoice([run]), PARTS.map((part) => part(run, prefix)));
}

function content() {
  const { runs } = data;
  if (runs.length === 0) return [el("h1", {}, "No run yet")];
  if (runs.length === 1) return [runPage(runs[0], "")];
  return tabbed([
    ["Overview", () => overviewOf(data)],
    ...runs.map((run, k) => [run.label, () => runPage(run, `run${k}-`)]),
  ]);
}

function draw() {
  renewed(page, () => [
    ...data.notes.map((text) => el("p", { class: "soft" }, text)),
    ...content(),
    el("footer", {}, `Written by senn ${data.senn} on ${data.made}.`),
  ]);
}

draw();
