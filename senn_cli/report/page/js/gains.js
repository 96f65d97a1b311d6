// Predicted against realised gains: a point a growth round.
function gainScales(gains) {
  const x = gains.predicted, y = [...gains.realised, ...gains.before.filter((value) => value !== null), ...gains.own.filter((value) => value !== null)];
  const low = Math.min(0, least(x), least(y)), high = Math.max(greatest(x), greatest(y));
  const positive = x.filter((value) => value > 0);
  if (positive.length && high > 30 * least(positive)) {
    const small = 10 ** (Math.floor(Math.log10(high)) - 2);
    const make = (from, to) => symmetric(1.5 * from, 1.5 * to, small);
    return [make(Math.min(0, least(x)), greatest(x)), make(low, Math.max(greatest(y), small))];
  }
  const room = 0.06 * (high - low || 1);
  const right = Math.max(greatest(x), 0);
  return [linear(Math.min(0, least(x)) - (least(x) < 0 ? room : 0), right * 1.06 || 1), linear(low - (low < 0 ? room : 0), Math.max(greatest(y), 0) + room)];
}

function gainsChart(run, off) {
  const { gains } = run;
  return chart("Realised over predicted gain of every growth round", (whole_) => {
    const width = Math.min(whole_, 640);
    const [x, y] = gainScales(gains);
    const unit = lossUnit([run]);
    const frame = axes({ width, height: Math.min(320, 0.72 * width), x, y, xTitle: `predicted gain \u0394\u03b7/2 (${unit})`, yTitle: `realised gain (${unit})` });
    if (y.min < 0) frame.root.append(svg("line", { class: "zero", x1: frame.left, x2: frame.right, y1: frame.py(0), y2: frame.py(0) }));
    const from = Math.max(x.min, y.min), to = Math.min(x.max, y.max);
    if (to > from) frame.root.append(svg("line", { class: "tau equal", x1: frame.px(from), y1: frame.py(from), x2: frame.px(to), y2: frame.py(to) }));
    const points = gains.predicted.map((value, k) => [frame.px(value), frame.py(gains.realised[k])]);
    if (!off.has("before")) {
      const before = gains.predicted.map((value, k) => (gains.before[k] === null ? null : [frame.px(value), frame.py(gains.before[k])])).filter(Boolean);
      frame.root.append(svg("path", { d: signs("cross", before, 3.2), style: "stroke:var(--mark);stroke-width:1.5;fill:none" }));
    }
    if (!off.has("own")) {
      const own = gains.predicted.map((value, k) => (gains.own[k] === null ? null : [frame.px(value), frame.py(gains.own[k])])).filter(Boolean);
      frame.root.append(svg("path", { d: signs("diamond", own, 4.5), style: "fill:var(--c1);stroke:var(--paper)" }));
    }
    if (!off.has("round")) frame.root.append(svg("path", { d: signs("circle", points, 4.5), style: "fill:var(--c0);fill-opacity:0.85;stroke:var(--paper)" }));
    hover(frame, points.length,
      nearby(points, 24),
      (k) => ({
        x: points[k][0], y: points[k][1], ring: true,
        lines: [
          [stepText(run, gains.step[k]), "strong"],
          [count(gains.edits[k], "edit")],
          [`predicted gain ${number(gains.predicted[k])}`],
          [`realised up to step ${whole(gains.until[k])}: ${number(gains.realised[k])}`],
          ...(gains.own[k] === null ? [] : [[`the edits by themselves gained ${number(gains.own[k])}`]]),
          gains.before[k] === null ? ["no interval before it", "weak"] : [`the interval before gained ${number(gains.before[k])}`, "weak"],
        ],
      }));
    return frame.root;
  });
}

function gainsSection(run, prefix) {
  const title = "Predicted against realised gain", { gains } = run;
  const told = el("p", {}, gains.words.join(" "));
  if (!gains.step.length) return section(`${prefix}gains`, title, empty(gains.words.join(" ")));
  const off = keep(`${prefix}gains`, () => new Set());
  const host = gainsChart(run, off);
  const entries = [{ key: "round", text: "a growth round", sign: glyph("circle", { style: "fill:var(--c0)" }) }];
  if (gains.before.some((value) => value !== null)) {
    entries.push({ key: "before", text: "what the interval before gained", sign: glyph("cross", { style: "stroke:var(--mark);stroke-width:1.5;fill:none" }) });
  }
  if (gains.own.some((value) => value !== null)) {
    entries.push({ key: "own", text: "what its edits gained by themselves", sign: glyph("diamond", { style: "fill:var(--c1)" }) });
  }
  entries.push({ text: "as predicted", sign: stroke(null, "tau") });
  return section(`${prefix}gains`, title, told,
    el("p", { class: "soft" }, "The gain is the loss on the deciding sample before the round less that of the next measurement; the network would have learnt in between without the edit, too."),
    legend(entries, off, () => host.redraw(true)),
    host);
}
