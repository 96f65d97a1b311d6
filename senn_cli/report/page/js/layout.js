// Where the diagram of a network has its features: columns by how far they lie behind the data.
const TALLEST = 210; // pixels of the widest layer

function featureWidth(run, feature, step) {
  return feature.layer === null ? feature.width : widthAt(run.layers[feature.layer], step);
}

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

// Of every feature {x, top, bottom, pitch}; a column has its x and its middle at all moments.
function networkLayout(run, widths, width) {
  const { features } = run.network;
  const columns = new Array(1 + greatest(features.map(({ column }) => column), 0)).fill(null)
    .map((_, column) => features.map((_feature, k) => k).filter((k) => features[k].column === column));
  const sum = (those, size, between) => those.reduce((all, k) => all + size(k) + between, -between);
  // The most units that a layer ever has; data and outputs may be far more, and are cut off.
  const most = (k) => (features[k].layer === null ? 1 : greatest(run.layers[features[k].layer].widths, 1));
  const pitch = Math.min(13, TALLEST / greatest(columns.map((those) => sum(those, most, 0)), 1));
  const tall = (k) => (widths[k] === null ? 40 : Math.min(TALLEST, widths[k] * pitch));
  const tallest = (k) => Math.max(tall(k), features[k].layer === null ? 0 : most(k) * pitch);
  const between = columns.some((those) => those.length > 1) ? 30 : 0;
  const reach = greatest(columns.map((those) => sum(those, tallest, between)), 40);
  const middle = 24 + reach / 2, gap = width / columns.length;
  const places = new Array(features.length);
  columns.forEach((those, column) => {
    let top = middle - sum(those, tall, between) / 2;
    for (const k of those) {
      places[k] = { x: gap * (column + 0.5), top, bottom: top + tall(k), pitch: widths[k] ? tall(k) / widths[k] : 0 };
      top += tall(k) + between;
    }
  });
  return { places, columns, gap, box: Math.max(4, Math.min(22, 0.34 * gap)), bottom: middle + reach / 2 };
}
