// The score of every site in every round against tau, on a logarithmic axis.
const DECADES = 4; // scores further from tau than that stand at the edge
const SIGNS = { width: "circle", depth: "diamond", pruned: "cross" };

function scoreRange(scores) {
  const centre = (scores.tau.find(([, tau]) => tau > 0) || [0, 1])[1];
  const inside = scores.ratio.filter((ratio) => ratio !== null && ratio >= centre / 10 ** DECADES && ratio <= centre * 10 ** DECADES);
  return [least(inside, centre / 2), greatest(inside, centre * 2)];
}

// The least tau alone, or the range that it took.
function tauText(scores) {
  const taus = scores.tau.map(([, tau]) => tau);
  const low = number(least(taus)), high = number(greatest(taus));
  return low === high ? `\u03c4 = ${low}` : `\u03c4 from ${low} to ${high}`;
}

// What a score is divided by: that of the map, or for dormant proposals that of all maps.
function scoreSign(run) {
  return run.dormant ? "\u0394\u03b7/\u03b7" : "\u0394\u03b7/\u03b7_c";
}

function siteText(run, k) {
  const { scores } = run;
  const layer = scores.layer[k];
  const target = layer === null ? "the outputs" : run.layers[layer].name;
  if (scores.kind[k] === "pruned") return `a ${run.unit} of ${target}, pruned`;
  return scores.kind[k] === "depth" ? `a layer before ${target}` : `${run.unit}s for ${target}`;
}

function scoresChart(run, off) {
  const { scores } = run;
  const layers = run.layers.length;
  const [low, high] = scoreRange(scores);
  const edge = (ratio) => (ratio === null || ratio > high ? "up" : ratio < low ? "down" : "");
  return chart("Scores of all sites over the training against the threshold", (width) => {
    const last = Math.max(1, Math.min(run.last, Math.ceil(1.05 * greatest(scores.step))));
    const x = linear(0, unitOf(run, last)), y = logarithmic(low / 1.9, high * 1.9);
    const frame = axes({ width, height: 260, x, y, yTitle: `score ${scoreSign(run)}, logarithmic`, xTitle: unitTitle() });
    const places = scores.ratio.map((ratio, k) => [
      frame.px(unitOf(run, scores.step[k])),
      frame.py({ up: high * 1.4, down: low / 1.4, "": ratio }[edge(ratio)]),
    ]);
    const groups = new Map();
    const shown = [];
    places.forEach((place, k) => {
      const key = scores.layer[k] === null ? "outputs" : run.layers[scores.layer[k]].name;
      if (off.has(key)) return;
      shown.push(k);
      const shape = edge(scores.ratio[k]) || (SIGNS[scores.kind[k]] || "circle");
      const name = `${scores.accepted[k] ? 1 : 0}|${shape}|${scores.layer[k]}`;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(place);
    });
    for (const name of [...groups.keys()].sort()) {
      const [accepted, shape, layer] = name.split("|");
      const paint = layer === "null" ? OUTPUTS : colour(Number(layer), layers);
      frame.root.append(svg("path", {
        "data-accepted": accepted,
        d: signs(shape, groups.get(name), shape === "diamond" ? 3.4 : 3.7),
        style: `stroke:${paint};stroke-width:1.5;fill:${accepted === "1" ? paint : "none"}`,
      }));
    }
    const taus = scores.tau.filter(([, tau]) => tau > 0);
    if (taus.length) {
      const path = taus.map(([step, tau], k) => (k ? `H${tenth(frame.px(unitOf(run, step)))}V` : `M${frame.left} `) + tenth(frame.py(Math.min(high * 1.4, Math.max(low / 1.4, tau)))));
      frame.root.append(svg("path", { class: "tau", d: `${path.join("")}H${frame.right}` }));
    }
    hover(frame, shown.length,
      nearby(shown.map((k) => places[k]), 18),
      (place) => {
        const k = shown[place];
        const tau = scores.tau[lastUpTo(scores.tau.map(([step]) => step), scores.step[k])];
        const ratio = scores.ratio[k] === null ? "infinite, \u03b7 was 0" : number(scores.ratio[k]);
        return {
          x: places[k][0], y: places[k][1], ring: true,
          lines: [
            [stepText(run, scores.step[k]), "strong"],
            [siteText(run, k)],
            [`${scores.kind[k] === "pruned" ? "removal cost" : "score"} ${scoreSign(run)} ${ratio}${tau ? ` against \u03c4 = ${number(tau[1])}` : ""}`],
            [scores.accepted[k] ? "accepted" : "not chosen", "weak"],
          ],
        };
      });
    return frame.root;
  });
}

function scoresSection(run, prefix) {
  const title = "Scores against the threshold", { scores } = run;
  if (!scores.step.length) return section(`${prefix}scores`, title, empty("No site has been scored."));
  const off = keep(`${prefix}scores`, () => new Set());
  const host = scoresChart(run, off);
  const [low, high] = scoreRange(scores);
  const ink = { style: "stroke:var(--ink);stroke-width:1.5;fill:none" };
  const seen = new Set(scores.layer), kinds = new Set(scores.kind);
  const entries = run.layers.map((layer, k) => [layer, k]).filter(([, k]) => seen.has(k))
    .map(([, k]) => ({ key: run.layers[k].name, text: run.layers[k].name, sign: swatch(colour(k, run.layers.length)) }));
  if (seen.has(null)) entries.push({ key: "outputs", text: "outputs", sign: swatch(OUTPUTS) });
  if (kinds.has("width")) entries.push({ text: `${run.unit}s for it`, sign: glyph("circle", ink) });
  if (kinds.has("depth")) entries.push({ text: "a layer before it", sign: glyph("diamond", ink) });
  if (kinds.has("pruned")) entries.push({ text: "cost of a pruned one", sign: glyph("cross", ink) });
  entries.push({ text: "accepted", sign: glyph("circle", { style: "fill:var(--ink)" }) });
  if (scores.ratio.some((ratio) => ratio !== null && ratio < low)) entries.push({ text: "lower, or negative", sign: glyph("down", ink) });
  if (scores.ratio.some((ratio) => ratio === null || ratio > high)) entries.push({ text: "higher", sign: glyph("up", ink) });
  if (scores.tau.length) entries.push({ text: tauText(scores), sign: stroke(null, "tau") });
  return section(`${prefix}scores`, title,
    el("p", { class: "soft" }, formula(scores.words.join(" "))),
    legend(entries, off, () => host.redraw(true)),
    host);
}
