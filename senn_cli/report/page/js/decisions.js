// The decision log: sorted and filtered as a list of places, shown a page at a time.
const PAGE = 50;

const COLUMNS = [
  ["step", "step", whole],
  ["epoch", "epoch", (value) => number(value, 4)],
  ["what", "decision", null],
  ["where", "site", null],
  ["reason", "reason", null],
  ["ratio", "\u0394\u03b7/\u03b7_c", number],
  ["tau", "\u03c4", number],
  ["delta_eta", "\u0394\u03b7", number],
  ["eta", "\u03b7_c", number],
  ["predicted", "predicted gain", number],
  ["realised", "realised gain", number],
  ["own", "own effect", number],
  ["starved", "newborn gradient", number],
  ["inactive", "newborn inactive", number],
  ["loss", "loss", (value) => number(value, 4)],
  ["parameters", "parameters", whole],
  ["seconds", "seconds", number],
];

// Places in the order of a column; lines without a value come last, equal ones stay in order.
function sorted(places, values, descending) {
  const sign = descending ? -1 : 1;
  return [...places].sort((a, b) => {
    const p = values[a], q = values[b];
    if (p === q) return a - b;
    if (p === null || p === "") return 1;
    if (q === null || q === "") return -1;
    return sign * (p < q ? -1 : 1);
  });
}

function decisionsSection(run, prefix) {
  const log = run.decisions, total = log.step.length, left = run.totals.decisions - total;
  const title = left ? "Decisions" : "Every decision";
  if (!total) return section(`${prefix}decisions`, title, empty("No decision has been recorded."));
  const everything = [...log.step.keys()];
  const accepted = log.accepted.filter(Boolean).length;
  const state = keep(`${prefix}decisions`, () => ({ which: "all", typed: "", by: null, descending: false, page: 0 }));
  const columns = COLUMNS.filter(([key]) => (key !== "epoch" || run.per_epoch !== 1) && log[key].some((value) => value !== null && value !== ""));
  let places = everything;

  const heads = columns.map(([key, text, form]) => el("th", { scope: "col", class: form ? "number" : null, "aria-sort": "none", "data-key": key },
    el("button", { type: "button", onclick: () => sortBy(key) }, formula(run.dormant ? text.replace("_c", "") : text))));
  const body = el("tbody");
  const told = el("span", { role: "status" });
  const back = el("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const on = el("button", { type: "button", onclick: () => turn(1) }, "Next");
  const words = el("input", {
    type: "search", value: state.typed, placeholder: "find in site and reason", "aria-label": "Find in site and reason",
    oninput: () => {
      state.typed = words.value;
      restart();
    },
  });

  function sortBy(key) {
    const again = state.by === key;
    state.descending = again && !state.descending;
    state.by = key;
    restart();
  }

  function turn(by) {
    state.page += by;
    show();
  }

  function restart() {
    state.page = 0;
    choose();
  }

  function choose() {
    for (const head of heads) {
      head.setAttribute("aria-sort", head.dataset.key !== state.by ? "none" : state.descending ? "descending" : "ascending");
    }
    const words = state.typed.trim().toLowerCase();
    places = everything.filter((k) =>
      (state.which === "all" || log.accepted[k] === (state.which === "accepted")) &&
      (!words || `${log.where[k]} ${log.reason[k]} ${log.what[k]}`.toLowerCase().includes(words)));
    if (state.by) places = sorted(places, log[state.by], state.descending);
    show();
  }

  function show() {
    const first = state.page * PAGE, page = places.slice(first, first + PAGE);
    body.replaceChildren(...page.map((k) => el("tr", { class: log.accepted[k] ? "accepted" : "rejected" },
      columns.map(([key, , form]) => el("td", { class: form ? "number" : key }, form ? form(log[key][k]) : log[key][k])))));
    told.textContent = places.length ? `${whole(first + 1)}\u2013${whole(first + page.length)} of ${whole(places.length)}` : "none";
    back.disabled = state.page === 0;
    on.disabled = first + PAGE >= places.length;
  }

  choose();
  return section(`${prefix}decisions`, title,
    el("p", { class: "soft" }, left ? `Of ${whole(run.totals.decisions)} decisions these are ${whole(total)}: accepted ones, and of the others the highest scores; senn inspect history --rejected has all. ` : "",
      "Gains are in units of the loss. The realised one is that of the whole round and stands on its last edit" +
      (log.own.some((value) => value !== null) ? ", and so does what its edits gained by themselves, beside a copy that trained on without them; at the end of that the gradients of new units are told by those of incumbents, and which share of them does nothing" : "") +
      (log.what.some((text) => text.startsWith("pruned")) ? "; of a pruning both are what the loss falls by at once, negative where it rises, and its \u0394\u03b7 is what the removal costs." : ".")),
    el("div", { class: "tools" },
      choice("Which decisions", [["all", `all ${whole(total)}`], ["accepted", `accepted ${whole(accepted)}`], ["rejected", `rejected ${whole(total - accepted)}`]], state.which, (which) => {
        state.which = which;
        restart();
      }),
      words,
      el("span", { class: "pager" }, back, on, told)),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
      el("table", { class: "log" }, el("thead", {}, el("tr", {}, heads)), body)));
}
