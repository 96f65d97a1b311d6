// The network as a diagram: layers as columns of units, and the maps between them as bands, as they
// were at any moment. It is drawn from features and maps alone, whatever the kind of network.

// What is known at one moment: widths now and at the moment before, who reads whom, and where.
function networkMoment(run, moments, k, width) {
  const { features, maps } = run.network;
  const at = (step) => features.map((feature) => featureWidth(run, feature, step));
  const widths = at(moments[k]);
  return {
    run, features, widths,
    before: k > 0 ? at(moments[k - 1]) : widths,
    there: (place) => widths[place] !== 0,
    reads: readsAt(run.network, widths),
    window: (place) => (maps.find((map) => map.target === place) || { window: [] }).window,
    convolved: maps.some((map) => map.window.length > 0),
    paint: (place) => (features[place].layer === null ? OUTPUTS : colour(features[place].layer, run.layers.length)),
    ...networkLayout(run, widths, width),
  };
}

function bandBetween(a, b, box) {
  const from = tenth(a.x + box / 2), to = tenth(b.x - box / 2), half = tenth((from + to) / 2);
  const [p, q, r, s] = [a.top, b.top, b.bottom, a.bottom].map(tenth);
  return `M${from} ${p}C${half} ${p} ${half} ${q} ${to} ${q}V${r}C${half} ${r} ${half} ${s} ${from} ${s}Z`;
}

// A band from what is read to what reads it, or where others stand between a line below them.
// `told` is the moment; returns the element and how far down it goes.
function bandOf(told, source, target) {
  const { features, places, box, bottom, there } = told;
  const a = places[source], b = places[target], from = features[source].column, to = features[target].column;
  const name = { "data-band": `${features[source].name}>${features[target].name}` };
  if (!features.some(({ column }, place) => there(place) && column > from && column < to)) {
    return [svg("path", { ...name, d: bandBetween(a, b, box), style: `fill:${told.paint(source)}` }), bottom];
  }
  const deep = bottom + Math.min(70, 10 + 7 * (to - from));
  const [x, y, u, v, d] = [a.x, a.bottom, b.x, b.bottom, deep].map(tenth);
  const path = svg("path", { ...name, class: "jump", d: `M${x} ${y}C${x} ${d} ${u} ${d} ${u} ${v}`, style: `stroke:${told.paint(source)}` });
  return [path, bottom + 0.75 * (deep - bottom) + 4]; // a curve goes no further than its handles
}

// Units in use of one feature: dots, cells of channels, or a block where they are too many.
function drawnUnits(told, place) {
  const { box } = told, { x, top, bottom, pitch } = told.places[place], units = told.widths[place];
  const paint = { style: `fill:${told.paint(place)}` };
  if (units === null || pitch < 4.5) {
    const frame = { x: tenth(x - box / 2), y: tenth(top), width: tenth(box), height: tenth(Math.max(1, bottom - top)), rx: 3 };
    return svg("rect", { ...frame, ...(units === null ? { class: "unknown" } : paint) });
  }
  const one = told.window(place).length
    ? (y) => `M${tenth(x - box / 2)} ${tenth(y + 0.6)}h${tenth(box)}v${tenth(pitch - 1.2)}h${tenth(-box)}z`
    : (y) => MARKS.circle(tenth(x), tenth(y + pitch / 2), tenth(Math.min(0.4 * pitch, box / 2)));
  return svg("path", { d: Array.from({ length: units }, (_, k) => one(top + k * pitch)).join(""), ...paint });
}

// A frame around what has just changed.
function changedFrame({ places, box }, place) {
  const { x, top, bottom } = places[place];
  return svg("rect", { class: "changed", x: tenth(x - box / 2 - 3), y: tenth(top - 3), width: tenth(box + 6), height: tenth(bottom - top + 6), rx: 5 });
}

// The width above a feature, and by how much it has just changed where there is room.
function widthText({ widths, before, places, gap }, place) {
  if (widths[place] === null) return null;
  const by = widths[place] - before[place], total = whole(widths[place]);
  const change = `${total} ${by > 0 ? "+" : MINUS}${whole(Math.abs(by))}`;
  const text = by && measure(change) < gap - 4 ? change : total;
  if (measure(text) >= gap - 3) return null;
  return svg("text", { x: tenth(places[place].x), y: tenth(places[place].top - 7), "text-anchor": "middle", class: by ? "axis-title" : null }, text);
}

// Names below the columns, or numbers where names have no room.
function columnNames({ features, columns, there, gap }, width, foot) {
  const found = [];
  let reached = -Infinity;
  columns.forEach((those, column) => {
    const names = those.filter(there).map((place) => {
      const { name, group } = features[place];
      return group && name.startsWith(`${group} `) ? name.slice(group.length + 1) : name;
    });
    const last = names.length === 1 && (names[0].match(/\d+$/) || [])[0];
    const text = [names.join(", "), last].find((each) => each && measure(each) < gap - 4) || "";
    const half = measure(text) / 2, x = Math.min(Math.max(gap * (column + 0.5), half), width - half);
    if (!text || x - half < reached + 4) return;
    reached = x + half;
    found.push(svg("text", { x: tenth(x), y: foot, "text-anchor": "middle" }, text));
  });
  return found;
}

function groupNames({ features, there, gap }, groups, foot) {
  return groups.flatMap((group) => {
    const those = features.filter((feature, place) => feature.group === group && there(place)).map(({ column }) => column);
    if (!those.length) return [];
    const from = gap * (least(those) + 0.12), to = gap * (greatest(those) + 0.88);
    const line = svg("line", { class: "axis", x1: tenth(from), x2: tenth(to), y1: foot + 9, y2: foot + 9 });
    if (measure(group) >= to - from) return [line];
    return [line, svg("text", { x: tenth((from + to) / 2), y: foot + 25, "text-anchor": "middle" }, group)];
  });
}

// What the tooltip says of a feature.
function featureLines(told, place) {
  const { run, features, widths, convolved } = told, feature = features[place], window_ = told.window(place);
  const layer = feature.layer === null ? null : run.layers[feature.layer];
  const units = { data: convolved ? "channels" : "numbers", outputs: "outputs" }[feature.role];
  const lines = [[feature.name, "strong", told.paint(place)]];
  if (widths[place] !== null) lines.push([layer ? count(widths[place], run.unit) : `${whole(widths[place])} ${units}`]);
  const read = told.reads(place).map((source) => features[source].name);
  if (read.length) lines.push([`reads ${read.join(", ")}${window_.length ? ` by a ${window_.join(" \u00d7 ")} convolution` : ""}`]);
  if (layer && layer.steps[0] > 0) lines.push([`inserted at ${stepText(run, layer.steps[0])}`, "weak"]);
  return lines;
}

function networkDrawing(run, moments, k, width) {
  const told = networkMoment(run, moments, k, width);
  const { features, places, widths, before, there, gap, box } = told;
  const shown = features.map((_, place) => place).filter(there);
  const bands = shown.flatMap((target) => told.reads(target).map((source) => bandOf(told, source, target)));
  const foot = greatest(bands.map(([, low]) => low), told.bottom) + 18;
  const groups = [...new Set(features.map(({ group }) => group))].filter(Boolean);
  const height = Math.ceil(foot + (groups.length ? 34 : 8));
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "network" },
    svg("g", { class: "bands" }, bands.map(([path]) => path)),
    shown.map((place) => svg("g", { "data-feature": features[place].name, "data-width": widths[place] }, drawnUnits(told, place))),
    shown.filter((place) => widths[place] !== before[place]).map((place) => changedFrame(told, place)),
    shown.map((place) => widthText(told, place)),
    columnNames(told, width, foot), groupNames(told, groups, foot));
  hover({ root, point: () => {} }, shown.length,
    (px, py) => shown.findIndex((place) => Math.abs(places[place].x - px) < Math.max(box, gap / 3) && py > places[place].top - 22 && py < places[place].bottom + 22),
    (chosen) => ({ x: places[shown[chosen]].x, y: places[shown[chosen]].top, lines: featureLines(told, shown[chosen]) }));
  return root;
}

function networkSection(run, prefix) {
  const title = "The network as it grew", moments = momentsOf(run);
  let moment = moments.length - 1;
  const host = chart("The network at the chosen moment", (width) => networkDrawing(run, moments, moment, width));
  const slider = moments.length > 1 ? replay(run, `${prefix}network`, (k) => {
    moment = k;
    tooltip.hide();
    host.redraw(true);
  }) : null;
  return section(`${prefix}network`, title,
    el("p", { class: "soft" }, `Columns are the ${run.unit}s of every layer, bands what reads what. `,
      run.network.connected ? null : "What its layers read is known from the first checkpoint on. ",
      slider && run.rounds.length ? "Move the slider to see it at any moment; a frame is around what had just changed." : null),
    slider, host);
}
