// Free text: what the index knows of a run first, then the whole of every run, piece by piece.

class Search {
  constructor(needle, progress) {
    this.needle = needle.toLowerCase();
    this.found = new Set();
    this.searched = 0;
    this.stopped = false;
    this.progress = progress;
    this.inIndex();
  }

  inIndex() {
    for (let run = 0; run < index.count; run++) {
      const { group, name, finding, tags } = row(run);
      if ([group, name, finding, ...tags].some((text) => this.isIn(text))) this.found.add(run);
    }
  }

  isIn(text) {
    return String(text).toLowerCase().includes(this.needle);
  }

  get share() {
    return report.chunks ? this.searched / report.chunks : 1;
  }

  async run() {
    for (let chunk = 0; chunk < report.chunks && !this.stopped; chunk++) {
      const text = await unpacked(await chunkElement(chunk));
      if (this.stopped) return;
      this.inChunk(text, index.firstOfChunk[chunk]);
      this.searched = chunk + 1;
      this.progress();
    }
  }

  inChunk(text, first) {
    // Most runs are sorted out by their JSON as it is written, before it is parsed.
    const written = JSON.stringify(this.needle).slice(1, -1);
    text.split("\n").forEach((line, number) => {
      const run = first + number;
      if (this.found.has(run) || !line.toLowerCase().includes(written)) return;
      if (holds(JSON.parse(line, unmarked), (each) => this.isIn(each))) this.found.add(run);
    });
  }
}

/** Below these fields stands data: there keys and numbers are text as well. */
const DATA = new Set(["args", "result", "metadata", "expected", "actual", "votes", "usage"]);
/** These say how something went, or how the page is to read it; there are filters for that. */
const NOT_SEARCHED = new Set(["read", "status", "outcome", "file"]);

/** Whether a text of a run passes a test. */
function holds(run, test) {
  const left = [{ value: run, data: false }];
  while (left.length) {
    const { value, data } = left.pop();
    if (typeof value === "string" ? test(value) : data && !isContainer(value) && test(numberText(value))) return true;
    if (!isContainer(value)) continue;
    for (const [key, each] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      if (!data && NOT_SEARCHED.has(key)) continue;
      if (data && !Array.isArray(value) && test(key)) return true;
      left.push({ value: each, data: data || DATA.has(key) });
    }
  }
  return false;
}

function numberText(value) {
  return value instanceof Numeral ? value.digits : String(value);
}
