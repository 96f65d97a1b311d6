// The growth of several runs side by side, on the same scales; a run's name opens its tab.
const SIDE_BY_SIDE = 12;

function sideChart(run, last, most) {
  return chart(`Growth of ${run.label}`, (width) => {
    const { steps, bands } = stacked(run.layers, run.last);
    const x = linear(0, last()), y = linear(0, most, { integer: true });
    const frame = axes({ width, height: 110, x, y });
    const xs = steps.map((step) => frame.px(unitOf(run, step)));
    bands.forEach((edges, k) => frame.root.append(
      svg("path", { class: "band", "data-layer": run.layers[k].name, d: bandPath(xs, edges, frame.py), style: `fill:${colour(k, run.layers.length)}` })));
    const at = run.rounds.map((round) => unitOf(run, round.step));
    hover(frame, at.length,
      (px) => (at.length ? nearest(at, x.back((px - frame.left) / (frame.right - frame.left))) : -1),
      (place) => ({ x: frame.px(at[place]), y: 22, lines: roundLines(run, run.rounds[place]) }));
    return frame.root;
  });
}

function sidesSection(runs) {
  const title = "Growth side by side";
  const known = runs.map((run, k) => [run, k]).filter(([run]) => run.layers.length && run.last);
  if (!known.length) return null;
  const state = keep("sides", () => ({ shown: SIDE_BY_SIDE }));
  const last = () => greatest(known.map(([run]) => unitOf(run, run.last)), 0);
  const most = 1.04 * greatest(known.map(([run]) => stacked(run.layers, run.last).most), 1);
  const grid = el("div", { class: "sides" });
  const more = el("button", { type: "button", onclick: () => {
    state.shown += SIDE_BY_SIDE;
    show();
  } });
  function show() {
    for (const host of charts) if (grid.contains(host)) forget(host);
    grid.replaceChildren(...known.slice(0, state.shown).map(([run, k]) => el("figure", {},
      el("figcaption", {}, el("button", { type: "button", title: run.label, onclick: () => keep("tab").open(k + 1) }, run.label)),
      sideChart(run, last, most))));
    more.hidden = state.shown >= known.length;
    more.textContent = `Show ${Math.min(SIDE_BY_SIDE, known.length - state.shown)} more of ${known.length}`;
  }
  show();
  return section("overview-growth", title,
    el("p", { class: "soft" }, `${unitsOf(runs, true)} of the hidden layers over the training, stacked, all on the same scales.`), grid, more);
}
