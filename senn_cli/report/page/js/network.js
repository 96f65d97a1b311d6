// The network as a diagram: layers as columns of units, and the maps between them as bands, as they
// were at any moment. It is drawn from features and maps alone, whatever the kind of network.
const TALLEST = 210; // pixels of the widest layer

// The places that every feature reads at a moment. What was not there yet handed on what it reads.
function readsAt(network, widths) {
  const writer = new Map(network.maps.map((map) => [map.target, map])), known = new Map();
  function reads(place) {
    if (!known.has(place)) {
      const found = new Set();
      for (const source of writer.has(place) ? writer.get(place).sources : []) {
        for (const each of widths[source] === 0 ? reads(source) : [source]) found.add(each);
      }
      known.set(place, [...found]);
    }
    return known.get(place);
  }
  return reads;
}

// Where every feature is drawn: {x, top, bottom, pitch}; places stay the same at all moments.
function networkLayout(run, widths, width) {
  const { features } = run.network;
  const columns = 1 + greatest(features.map(({ column }) => column), 0);
  const inColumn = (column) => features.map((feature, k) => k).filter((k) => features[k].column === column);
  const most = (k) => (features[k].layer === null ? 1 : greatest(run.layers[features[k].layer].widths, 1));
  const rooms = [...Array(columns).keys()].map((column) => inColumn(column).reduce((sum, k) => sum + most(k), 0));
  const pitch = Math.min(13, TALLEST / greatest(rooms, 1));
  const tall = (k) => (widths[k] === null ? 40 : Math.min(TALLEST, widths[k] * pitch));
  const gap = width / columns, box = Math.max(4, Math.min(22, 0.34 * gap));
  const between = greatest(rooms.map((_, column) => inColumn(column).length), 1) > 1 ? 30 : 0;
  const reach = greatest(rooms.map((_, column) => inColumn(column).reduce((sum, k) => sum + Math.max(tall(k), features[k].layer === null ? 0 : most(k) * pitch) + between, -between)), 40);
  const middle = 24 + reach / 2;
  const places = new Array(features.length);
  for (let column = 0; column < columns; column++) {
    const those = inColumn(column);
    let top = middle - those.reduce((sum, k) => sum + tall(k) + between, -between) / 2;
    for (const k of those) {
      places[k] = { x: gap * (column + 0.5), top, bottom: top + tall(k), pitch: widths[k] ? tall(k) / widths[k] : 0 };
      top += tall(k) + between;
    }
  }
  return { places, gap, box, bottom: middle + reach / 2, columns };
}

function bandBetween(a, b, box) {
  const from = tenth(a.x + box / 2), to = tenth(b.x - box / 2), half = tenth((from + to) / 2);
  const [p, q, r, s] = [a.top, b.top, b.bottom, a.bottom].map(tenth);
  return `M${from} ${p}C${half} ${p} ${half} ${q} ${to} ${q}V${r}C${half} ${r} ${half} ${s} ${from} ${s}Z`;
}

// Units in use of one feature: dots, cells of channels, or a block where they are too many.
function unitsIn(place, box, width, convolved, paint) {
  const found = [];
  const left = place.x - box / 2, size = place.pitch;
  if (width === null || size < 4.5) {
    found.push(svg("rect", { x: tenth(left), y: tenth(place.top), width: tenth(box), height: tenth(Math.max(1, place.bottom - place.top)), rx: 3, class: width === null ? "unknown" : null, style: width === null ? null : `fill:${paint}` }));
    return found;
  }
  let path = "";
  for (let k = 0; k < width; k++) {
    const y = place.top + k * size;
    path += convolved ? `M${tenth(left)} ${tenth(y + 0.6)}h${tenth(box)}v${tenth(size - 1.2)}h${tenth(-box)}z` : MARKS.circle(tenth(place.x), tenth(y + size / 2), tenth(Math.min(0.4 * size, box / 2)));
  }
  found.push(svg("path", { d: path, style: `fill:${paint}` }));
  return found;
}

function networkDrawing(run, moments, k, width) {
  const { features, maps } = run.network;
  const at = (feature, step) => (feature.layer === null ? feature.width : widthAt(run.layers[feature.layer], step));
  const widths = features.map((feature) => at(feature, moments[k]));
  const before = k > 0 ? features.map((feature) => at(feature, moments[k - 1])) : widths;
  const { places, gap, box, bottom, columns } = networkLayout(run, widths, width);
  const reads = readsAt(run.network, widths);
  const paint = (feature) => (feature.layer === null ? OUTPUTS : colour(feature.layer, run.layers.length));
  const windows = new Map(maps.map((map) => [map.target, map.window]));
  const there = (place) => widths[place] !== 0;
  const inTheWay = (a, b) => features.some(({ column }, place) => there(place) && column > features[a].column && column < features[b].column);
  const bands = svg("g", { class: "bands" }), units = svg("g", {}), texts = svg("g", {});
  let lowest = bottom;
  features.forEach((feature, target) => {
    if (!there(target)) return;
    for (const source of reads(target)) {
      const a = places[source], b = places[target];
      if (!inTheWay(source, target)) {
        bands.append(svg("path", { d: bandBetween(a, b, box), "data-band": `${features[source].name}>${feature.name}`, style: `fill:${paint(features[source])}` }));
        continue;
      }
      const deep = bottom + Math.min(70, 10 + 7 * (feature.column - features[source].column));
      lowest = Math.max(lowest, bottom + 0.75 * (deep - bottom) + 4);
      bands.append(svg("path", { class: "jump", d: `M${tenth(a.x)} ${tenth(a.bottom)}C${tenth(a.x)} ${tenth(deep)} ${tenth(b.x)} ${tenth(deep)} ${tenth(b.x)} ${tenth(b.bottom)}`, "data-band": `${features[source].name}>${feature.name}`, style: `stroke:${paint(features[source])}` }));
    }
    units.append(svg("g", { "data-feature": feature.name, "data-width": widths[target] }, unitsIn(places[target], box, widths[target], (windows.get(target) || []).length > 0, paint(feature))));
    const by = widths[target] - before[target];
    if (by) units.append(svg("rect", { class: "changed", x: tenth(places[target].x - box / 2 - 3), y: tenth(places[target].top - 3), width: tenth(box + 6), height: tenth(places[target].bottom - places[target].top + 6), rx: 5 }));
    const total = widths[target] === null ? "" : whole(widths[target]);
    const change = `${total} ${by > 0 ? "+" : MINUS}${whole(Math.abs(by))}`;
    const text = by && measure(change) < gap - 4 ? change : total;
    if (measure(text) < gap - 3) texts.append(svg("text", { x: tenth(places[target].x), y: tenth(places[target].top - 7), "text-anchor": "middle", class: by ? "axis-title" : null }, text));
  });
  const foot = lowest + 18;
  let reached = -Infinity;
  for (let column = 0; column < columns; column++) {
    const those = features.filter((feature, place) => feature.column === column && there(place));
    const full = those.map(({ name, group }) => (group && name.startsWith(`${group} `) ? name.slice(group.length + 1) : name)).join(", ");
    const number_ = those.length === 1 && (full.match(/\d+$/) || [])[0];
    const text = [full, number_].find((each) => each && measure(each) < gap - 4) || "";
    const half = measure(text) / 2, x = Math.min(Math.max(gap * (column + 0.5), half), width - half);
    if (!text || x - half < reached + 4) continue;
    reached = x + half;
    texts.append(svg("text", { x: tenth(x), y: foot, "text-anchor": "middle" }, text));
  }
  const groups = [...new Set(features.map(({ group }) => group))].filter(Boolean);
  for (const group of groups) {
    const those = features.filter((feature, place) => feature.group === group && there(place)).map(({ column }) => column);
    if (!those.length) continue;
    const from = gap * (least(those) + 0.12), to = gap * (greatest(those) + 0.88);
    texts.append(svg("line", { class: "axis", x1: tenth(from), x2: tenth(to), y1: foot + 9, y2: foot + 9 }));
    if (measure(group) < to - from) texts.append(svg("text", { x: tenth((from + to) / 2), y: foot + 25, "text-anchor": "middle" }, group));
  }
  const height = Math.ceil(foot + (groups.length ? 34 : 8));
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "network" }, bands, units, texts);
  const shown = features.map((_, place) => place).filter(there);
  hover({ root, point: () => {} }, shown.length,
    (px, py) => shown.findIndex((place) => Math.abs(places[place].x - px) < Math.max(box, gap / 3) && py > places[place].top - 22 && py < places[place].bottom + 22),
    (chosen) => {
      const place = shown[chosen], feature = features[place], layer = feature.layer === null ? null : run.layers[feature.layer];
      const window_ = windows.get(place) || [];
      const read = reads(place).map((source) => features[source].name);
      const lines = [[feature.name, "strong", paint(feature)]];
      if (widths[place] !== null) lines.push([layer ? count(widths[place], run.unit) : `${whole(widths[place])} ${window_.length || feature.role === "data" && windowed(maps) ? "channels" : feature.role === "data" ? "numbers" : feature.name}`]);
      if (read.length) lines.push([`reads ${read.join(", ")}${window_.length ? ` by a ${window_.join(" \u00d7 ")} convolution` : ""}`]);
      if (layer && layer.steps[0] > 0) lines.push([`inserted at ${stepText(run, layer.steps[0])}`, "weak"]);
      return { x: places[place].x, y: places[place].top, lines };
    });
  return root;
}

function windowed(maps) {
  return maps.some(({ window }) => window.length > 0);
}

function networkSection(run, prefix) {
  const title = "The network as it grew", moments = momentsOf(run);
  const names = run.unit === "neuron" || run.unit === "channel" ? `${run.unit}s` : "units";
  let moment = moments.length - 1;
  const host = chart("The network at the chosen moment", (width) => networkDrawing(run, moments, moment, width));
  const slider = moments.length > 1 ? replay(run, `${prefix}network`, (k) => {
    moment = k;
    tooltip.hide();
    host.redraw(true);
  }) : null;
  return section(`${prefix}network`, title,
    el("p", { class: "soft" }, `Columns are the ${names} of every layer, bands what reads what. `,
      run.network.connected ? null : "What its layers read is known from the first checkpoint on. ",
      slider && run.rounds.length ? "Move the slider to see it at any moment; a frame is around what had just changed." : null),
    slider, host);
}
