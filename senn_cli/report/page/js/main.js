// The page: one run, or tabs for several with an overview in front.
const data = JSON.parse(document.getElementById("data").textContent);
const host = document.getElementById("page");

function runPage(run, prefix) {
  return el("div", {},
    headOf(run), jumps(prefix), unitChoice([run]),
    [growthSection, curvesSection, scoresSection, gainsSection, secondsSection, decisionsSection, specSection, environmentSection]
      .map((part) => part(run, prefix)));
}

// A tab is made when it is first opened.
function tabbed(tabs) {
  const panels = new Map();
  const panel = el("div", { role: "tabpanel", id: "panel" });
  const buttons = tabs.map(([text], k) => el("button", {
    type: "button", role: "tab", id: `tab-${k}`, "aria-controls": "panel", onclick: () => open(k),
    onkeydown: (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) open((k + by + tabs.length) % tabs.length, true);
    },
  }, text));

  function open(chosen, focus) {
    tooltip.hide();
    buttons.forEach((button, k) => {
      button.setAttribute("aria-selected", String(k === chosen));
      button.setAttribute("tabindex", k === chosen ? "0" : "-1");
    });
    if (focus) buttons[chosen].focus();
    if (!panels.has(chosen)) panels.set(chosen, tabs[chosen][1]());
    panel.setAttribute("aria-labelledby", `tab-${chosen}`);
    panel.replaceChildren(panels.get(chosen));
    redrawAll();
  }

  open(0);
  return [el("div", { class: "tabs", role: "tablist", "aria-label": "Runs" }, buttons), panel];
}

if (data.runs.length === 1) {
  host.append(runPage(data.runs[0], ""));
} else {
  host.append(...tabbed([
    ["Overview", () => overviewOf(data)],
    ...data.runs.map((run, k) => [run.label, () => runPage(run, `run${k}-`)]),
  ]));
}
host.append(el("footer", {}, `Written by senn ${data.senn} on ${data.made}.`));
