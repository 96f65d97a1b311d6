// Right and wrong examples: images, or rows of a table.

// Pixels of 8 bits, a byte a channel, drawn as they are.
function imageOf({ size: [height, width, channels], pixels }, label) {
  const canvas = el("canvas", { width, height, role: "img", "aria-label": label });
  const bytes = Uint8Array.from(atob(pixels), (letter) => letter.charCodeAt(0));
  const image = new ImageData(width, height);
  for (let k = 0; k < width * height; k++) {
    for (let c = 0; c < 3; c++) image.data[4 * k + c] = bytes[k * channels + (channels === 3 ? c : 0)];
    image.data[4 * k + 3] = 255;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

const answerText = (answer) => (Array.isArray(answer) ? answer.map((value) => number(value, 4)).join(", ") : answer);

// `right`: whether an answer is the true class, so that it need not be told twice.
function pictures(examples, right) {
  return el("div", { class: "pictures" }, examples.map((example) => {
    const answer = answerText(example.predicted), own = answerText(example.true);
    const words = right ? answer : `${answer}, not ${own}`;
    return el("figure", {},
      imageOf(example, `example ${example.id}: ${words}`),
      el("figcaption", {}, words, example.confidence === null ? null : el("span", { class: "sure" }, `${fixed(100 * example.confidence, 0)}% sure`)));
  }));
}

function rowsOf(examples, columns) {
  const sure = examples.some(({ confidence }) => confidence !== null);
  return plainTable(["row", "true", "answer", ...(sure ? ["sure"] : []), ...columns],
    examples.map((example) => [
      whole(example.id), answerText(example.true), answerText(example.predicted), ...(sure ? [percent(example.confidence)] : []),
      ...example.values.map((value) => (value === null ? "\u2013" : typeof value === "string" ? value : number(value, 4))),
    ]));
}

const SORTS = [
  ["wrong", "Wrong answers, the surest first", "No answer was wrong."],
  ["right", "Right answers, from all over the examples", "No answer was right."],
  ["furthest", "The furthest predictions", null],
  ["nearest", "The nearest predictions", null],
];

function examplesPart(found) {
  const { shown } = found;
  return SORTS.filter(([sort]) => shown[sort]).map(([sort, title, none]) => {
    const examples = shown[sort];
    if (!examples.length) return none ? [el("h3", {}, title), empty(none)] : null;
    const more = shown.more ? el("p", { class: "soft" }, `The first ${count(shown.columns.length, "column")}; there are ${whole(shown.more)} more.`) : null;
    return [
      el("h3", {}, title),
      examples[0].pixels !== undefined ? pictures(examples, sort === "right") : [more, rowsOf(examples, shown.columns)],
    ];
  });
}
