// Where the seconds went: a bar a part.
function secondsSection(run, prefix) {
  const title = "Where the time went", { parts, total, note } = run.seconds;
  if (!parts.length) return section(`${prefix}seconds`, title, empty(note));
  const most = greatest(parts.map(([, spent]) => spent), 0) || 1;
  const share = (spent) => (100 * spent < total ? "<1" : fixed((100 * spent) / (total || 1), 0));
  const bars = parts.map(([name, spent]) => el("div", { class: "bar" },
    el("span", { class: "part" }, name),
    el("span", { class: "value" }, `${number(spent, spent < 10 ? 2 : 3)} s, ${share(spent)}%`),
    el("span", { class: "track", "aria-hidden": "true" }, el("span", { class: "fill", style: `width:${(100 * Math.max(0, spent)) / most}%` }))));
  return section(`${prefix}seconds`, title,
    el("p", { class: "soft" }, `${fixed(total, 1)} seconds in all. ${note}`),
    el("div", { class: "bars" }, bars));
}
