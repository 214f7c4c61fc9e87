// The data of the report: an overview as JSON, an index of the runs, and the runs in packed pieces.

/** Undo the marks that the writer puts before numbers that JavaScript can't hold. */
function unmarked(_, value) {
  if (typeof value !== "string" || !value.startsWith("\0")) return value;
  return value.startsWith("\0\0") ? value.slice(1) : new Numeral(value.slice(1));
}

/** Keep the digits of numbers in a text that holds JSON, where the browser hands them over. */
function digitsKept(_, value, context) {
  const rounded = typeof value === "number" && context?.source !== undefined && String(value) !== context.source;
  return rounded ? new Numeral(context.source) : value;
}

const report = JSON.parse(byId("report").textContent, unmarked);
let index = null;

async function unpacked(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function loadIndex() {
  index = JSON.parse(await unpacked(byId("index")), unmarked);
  index.hasJudged = index.columns.judged.some(Boolean);
  index.firstOfChunk = [];
  index.columns.chunk.forEach((chunk, run) => (index.firstOfChunk[chunk] ??= run));
}

/** What the index knows of a run. */
function row(run) {
  const { columns, names } = index;
  const group = names.case[columns.case[run]];
  return {
    run,
    group,
    number: columns.run[run],
    name: columns.name[run] ?? group,
    result: columns.result[run],
    status: columns.status[run],
    checks: columns.checks[run],
    judged: columns.judged[run],
    calls: columns.calls[run],
    seconds: columns.seconds[run],
    finding: columns.finding[run],
    tags: columns.tags[run].map((tag) => names.tags[tag]),
  };
}

const KEPT_CHUNKS = 4;
const chunks = new Map();

/** The element of a piece; the page may still be loading. */
function chunkElement(chunk) {
  const found = byId(`chunk-${chunk}`);
  if (found?.nextSibling || document.readyState !== "loading") return Promise.resolve(found);
  return new Promise((resolve) => {
    document.addEventListener("DOMContentLoaded", () => resolve(byId(`chunk-${chunk}`)), { once: true });
  });
}

/** The lines of a piece, one for each of its runs; the pieces looked at last are kept. */
function linesOf(chunk) {
  if (!chunks.has(chunk)) {
    chunks.set(
      chunk,
      chunkElement(chunk)
        .then(unpacked)
        .then((text) => text.split("\n")),
    );
    if (chunks.size > KEPT_CHUNKS) chunks.delete(chunks.keys().next().value);
  }
  return chunks.get(chunk);
}

async function loadRun(run) {
  const chunk = index.columns.chunk[run];
  const lines = await linesOf(chunk);
  return JSON.parse(lines[run - index.firstOfChunk[chunk]], unmarked);
}
