// One tab at a time; more than a row has room for are chosen from a list.
const MOST_TABS = 12;

// `tabs`: [text, make]. What `make` returns is made anew whenever its tab is opened.
function tabbed(tabs) {
  const state = keep("tab", () => ({ chosen: 0 }));
  const panel = el("div", { role: "tabpanel", id: "panel" });
  const few = tabs.length <= MOST_TABS;
  const buttons = few ? tabs.map(([text], k) => el("button", {
    type: "button", role: "tab", id: `tab-${k}`, "aria-controls": "panel", onclick: () => open(k),
    onkeydown: (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) open((k + by + tabs.length) % tabs.length, true);
    },
    title: text,
  }, shortly(text))) : [];
  const list = few ? null : el("select", { id: "tab-list", onchange: () => open(Number(list.value)) },
    tabs.map(([text], k) => el("option", { value: String(k) }, shortly(text, 80))));

  function mark() {
    if (list) list.value = String(state.chosen);
    buttons.forEach((button, k) => {
      button.setAttribute("aria-selected", String(k === state.chosen));
      button.setAttribute("tabindex", k === state.chosen ? "0" : "-1");
    });
    if (few) panel.setAttribute("aria-labelledby", `tab-${state.chosen}`);
    else panel.setAttribute("aria-label", tabs[state.chosen][0]);
  }

  function open(chosen, focus) {
    tooltip.hide();
    state.chosen = chosen;
    mark();
    if (focus) buttons[chosen].focus();
    for (const host of charts) if (panel.contains(host)) forget(host);
    panel.replaceChildren(tabs[chosen][1]());
    redrawAll();
  }

  state.chosen = Math.min(state.chosen, tabs.length - 1);
  state.open = open;
  mark();
  panel.append(tabs[state.chosen][1]());
  return [
    few ? el("div", { class: "tabs", role: "tablist", "aria-label": "Runs" }, buttons)
      : el("div", { class: "tools" }, el("label", { for: "tab-list" }, "Show"), list),
    panel,
  ];
}
