// Growth over time: the widths stacked, the rounds that changed something as signs above them.
function marksOf(run) {
  return [["layer", "diamond", "layer inserted"], ["neurons", "up", `${run.unit}s added`], ["pruned", "down", `${run.unit}s pruned`]]
    .filter(([kind]) => run.rounds.some((round) => round.marks.includes(kind)));
}

function widthAt(layer, step) {
  const place = lastUpTo(layer.steps, step);
  return place < 0 ? 0 : layer.widths[place];
}

// The outline of every band: at each step that a layer changes at, its lower and upper edge.
function stacked(layers, last) {
  const steps = [...new Set([0, ...layers.flatMap((layer) => layer.steps), last])].sort((a, b) => a - b);
  const base = new Array(steps.length).fill(0);
  const bands = layers.map((layer) => {
    const edges = [];
    let place = -1;
    steps.forEach((step, k) => {
      while (place + 1 < layer.steps.length && layer.steps[place + 1] <= step) place++;
      const low = base[k];
      base[k] += place < 0 ? 0 : layer.widths[place];
      edges.push([low, base[k]]);
    });
    return edges;
  });
  return { steps, bands, most: greatest(base, 0) };
}

// A band as a path of steps to the right.
function bandPath(xs, edges, py) {
  const over = [], under = [];
  xs.forEach((x, k) => {
    // What is overtaken within half a pixel is not seen; the last one stays.
    if (k > 0 && k + 1 < xs.length && Math.floor(2 * xs[k + 1]) === Math.floor(2 * x)) return;
    const [low, high] = edges[k];
    over.push(`${over.length ? `H${tenth(x)}V` : `M${tenth(x)} `}${tenth(py(high))}`);
    under.push([tenth(x), tenth(py(low))]);
  });
  let back = `V${under[under.length - 1][1]}`;
  for (let k = under.length - 1; k > 0; k--) back += `H${under[k][0]}V${under[k - 1][1]}`;
  return `${over.join("")}${back}H${under[0][0]}Z`;
}

function roundLines(run, round) {
  const lines = [[stepText(run, round.step), "strong"]];
  for (const edit of round.edits.slice(0, 5)) {
    lines.push([`${edit.what} at ${edit.where}`]);
    if (edit.ratios.length) {
      const [low, high] = edit.ratios.map((ratio) => number(ratio));
      const score = low === high ? high : `${low} to ${high}`;
      lines.push([`${scoreSign(run)} ${score}${edit.tau === null ? "" : ` against \u03c4 = ${number(edit.tau)}`}`, "weak"]);
    }
    if (edit.predicted !== null) {
      // A gain is what the loss falls by; of a pruning people expect what it rises by.
      const change = (gain) => (gain > 0 ? number(-gain) : `+${number(Math.abs(gain))}`);
      const came = edit.realised === null ? "" : `, came to ${change(edit.realised)}`;
      lines.push([`predicted change of the loss ${change(edit.predicted)}${came}`, "weak"]);
    }
    const last = edit.ratios[0] !== edit.ratios[1];
    if (edit.reason) lines.push([`why${last ? ", of the last one" : ""}: ${edit.reason}`, "weak"]);
  }
  if (round.edits.length > 5) lines.push([`and ${count(round.edits.length - 5, "other edit")}`]);
  if (round.predicted !== null) lines.push([`predicted gain in loss ${number(round.predicted)}`]);
  if (round.realised !== null) lines.push([`realised up to step ${whole(round.until)}: ${number(round.realised)}`]);
  lines.push([`hidden sizes then: ${round.hidden.join("-") || "none"}`, "weak"]);
  return lines;
}

function growthChart(run, off) {
  const rows = marksOf(run);
  return chart(`${unitsOf([run], true)} of every hidden layer over the training, stacked`, (width) => {
    const shown = run.layers.map((layer, k) => ({ ...layer, paint: colour(k, run.layers.length) })).filter((layer) => !off.has(layer.name));
    const { steps, bands, most } = stacked(shown, run.last);
    const x = linear(0, unitOf(run, run.last)), y = linear(0, Math.max(1, most * 1.04), { integer: true });
    const frame = axes({ width, height: 240, x, y, yTitle: unitsOf([run]), xTitle: unitTitle(), above: 20 * rows.length });
    const xs = steps.map((step) => frame.px(unitOf(run, step)));
    bands.forEach((edges, k) => frame.root.append(
      svg("path", { class: "band", "data-layer": shown[k].name, d: bandPath(xs, edges, frame.py), style: `fill:${shown[k].paint}` })));
    eventLines(frame, run, frame.top - 4, frame.bottom);
    rows.forEach(([kind, shape], row) => {
      const points = run.rounds.filter((round) => round.marks.includes(kind))
        .map((round) => [frame.px(unitOf(run, round.step)), frame.top - 20 * (rows.length - row) + 7]);
      frame.root.append(svg("path", { class: kind === "layer" ? "sign-layer" : "sign", "data-mark": kind, d: signs(shape, points, 4.5) }));
    });
    const at = run.rounds.map((round) => unitOf(run, round.step));
    hover(frame, at.length,
      (px) => {
        if (!at.length) return -1;
        const place = nearest(at, x.back((px - frame.left) / (frame.right - frame.left)));
        return Math.abs(frame.px(at[place]) - px) < 40 ? place : -1;
      },
      (place) => ({ x: frame.px(at[place]), y: 22, lines: roundLines(run, run.rounds[place]) }));
    return frame.root;
  });
}

function growthSection(run, prefix) {
  if (!run.layers.length) {
    return section(`${prefix}growth`, "Growth over time", empty("Up to now the network is linear: it has no hidden layer."));
  }
  if (!run.last) {
    return section(`${prefix}growth`, "Growth over time", empty("No step has been recorded yet."));
  }
  const off = keep(`${prefix}growth`, () => new Set());
  const host = growthChart(run, off);
  const entries = run.layers.map((layer, k) => ({ key: layer.name, text: `${layer.name}: ${whole(layer.widths[layer.widths.length - 1])}`, sign: swatch(colour(k, run.layers.length)) }));
  for (const [kind, shape, text] of marksOf(run)) {
    entries.push({ text, sign: glyph(shape, { class: kind === "layer" ? "sign-layer" : "sign" }) });
  }
  return section(`${prefix}growth`, "Growth over time",
    el("p", { class: "soft" }, `${unitsOf([run], true)} of the hidden layers, stacked from the inputs upwards; a layer keeps the number that it has at the end. `,
      run.rounds.length < run.totals.rounds ? `Of ${whole(run.totals.rounds)} rounds ${whole(run.rounds.length)} have a sign. ` : "",
      run.rounds.length ? "Point at a sign, tap it, or use the arrow keys: it says what was added and why." : "Nothing was added."),
    legend(entries, off, () => host.redraw(true)),
    host);
}
