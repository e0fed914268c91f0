/** What the tour writes on: prose that fits the window, marks that appear as things happen, no tricks off a terminal. */
import picocolors from "picocolors";

/** Colours are for a person who looks: never in a file, a pipe or a build's log, unless they were asked for. */
const { FORCE_COLOR, NO_COLOR } = process.env;
const isWanted = (FORCE_COLOR ?? "") !== "" && FORCE_COLOR !== "0";
const pc = picocolors.createColors((process.stdout.isTTY || isWanted) && (NO_COLOR ?? "") === "");

const MARGIN = "   ";
const WIDTH_MAX = 100;

export type Tone = "good" | "bad" | "back" | "plain";

const PAINT: Readonly<Record<Tone, (text: string) => string>> = {
  good: pc.green,
  bad: pc.red,
  back: pc.yellow,
  plain: pc.cyan,
};

const SIGN: Readonly<Record<Tone, string>> = { good: "✓", bad: "✗", back: "↺", plain: "•" };

export class Screen {
  readonly #out: NodeJS.WriteStream;
  /** Where the next mark goes, and where a line that is full goes on; 0 while no row is open. */
  #column = 0;
  #indent = 0;
  /** The last mark wants its line for itself. */
  #closed = false;
  /** The line under the cursor is one that changes: whatever comes next takes its place. */
  #passing = false;

  constructor(out: NodeJS.WriteStream = process.stdout) {
    this.#out = out;
  }

  /** Only a person at a terminal sees a line that changes. */
  get live(): boolean {
    return this.#out.isTTY;
  }

  get width(): number {
    return Math.min(this.live ? this.#out.columns : 80, WIDTH_MAX);
  }

  title(text: string, below: string): void {
    this.#write(`\n${MARGIN}${pc.bold(text)}\n`);
    this.say(below);
  }

  scene(number: number, text: string): void {
    this.#endRow();
    this.#write(`\n${pc.cyan(String(number).padStart(2))} ${pc.bold(text)}\n`);
  }

  /** A paragraph, wrapped. */
  say(text: string): void {
    this.#endRow();
    for (const line of wrap(text, this.width - MARGIN.length)) this.#write(`${MARGIN}${line}\n`);
  }

  gap(): void {
    this.#endRow();
    this.#write("\n");
  }

  /** A name and what it is, in two columns. */
  fact(name: string, value: string): void {
    this.#endRow();
    const lines = wrap(value, this.width - MARGIN.length - 12);
    lines.forEach((line, index) => {
      const label = index === 0 ? name : "";
      this.#write(`${MARGIN}${pc.dim(label.padEnd(12))}${line}\n`);
    });
  }

  /** Something to copy: never wrapped. */
  command(text: string): void {
    this.#endRow();
    this.#write(`${MARGIN}  ${pc.cyan(text)}\n`);
  }

  /** An address to open: never wrapped, and never coloured in parts, so that terminals see all of it. */
  link(name: string, url: string): void {
    this.#endRow();
    this.#write(`${MARGIN}${pc.dim(name.padEnd(12))}${pc.cyan(url)}\n`);
  }

  /** Opens the row of one thing. Marks follow on it. */
  row(name: string): void {
    this.#endRow();
    const width = Math.max(9, name.length + 2);
    this.#write(`${MARGIN}${pc.bold(name.padEnd(width))}`);
    this.#indent = MARGIN.length + width;
    this.#column = this.#indent;
  }

  /** One thing that happened, on the open row, or below it where it does not fit. */
  mark(tone: Tone, text: string, note = ""): void {
    const plain = `${SIGN[tone]} ${text}${note === "" ? "" : ` ${note}`}`;
    this.#makeRoom(plain.length);
    const painted = `${PAINT[tone](`${SIGN[tone]} ${text}`)}${note === "" ? "" : ` ${pc.dim(note)}`}`;
    this.#write(painted);
    this.#column += plain.length;
  }

  /** A mark on a line of its own. */
  event(tone: Tone, text: string, note = ""): void {
    if (this.#column > this.#indent) this.#nextLine();
    this.mark(tone, text, note);
    this.#closed = true;
  }

  /** How an order ended, at the end of its row. */
  ending(status: string, tone: Tone): void {
    this.#makeRoom(status.length);
    this.#write(PAINT[tone](pc.bold(status)));
    this.#endRow();
  }

  /** A line of the open row that tells how long something still takes: it changes on a terminal, elsewhere it is written once. */
  countdown(text: string, leftMs: number, first: boolean): void {
    if (first) {
      this.#nextLine();
      if (!this.live) this.#write(PAINT.plain(`${SIGN.plain} ${text}`));
    }
    const left = `${(Math.max(0, leftMs) / 1_000).toFixed(1)} s`;
    const pad = " ".repeat(this.#indent);
    if (this.live) this.#write(`\r\u001B[K${pad}${PAINT.plain(`${SIGN.plain} ${text}`)} ${pc.dim(left)}`);
    this.#column = this.#indent + 1;
    this.#closed = true;
  }

  /** What a scene has added up to. */
  figures(text: string): void {
    this.#endRow();
    this.#write(`\n${MARGIN}${pc.dim(text)}\n`);
  }

  /** A line that changes in place on a terminal. Elsewhere nothing is written. */
  status(text: string): void {
    if (!this.live) return;
    this.#write(`\r\u001B[K${MARGIN}${text.slice(0, this.#out.columns - MARGIN.length - 1)}`);
    this.#passing = true;
  }

  /** Two spaces after the last mark, or the next line where this one is full. */
  #makeRoom(length: number): void {
    if (this.#column === this.#indent) return;
    if (this.#closed || this.#column + 2 + length > this.width) return this.#nextLine();
    this.#write("  ");
    this.#column += 2;
  }

  #nextLine(): void {
    this.#write(`\n${" ".repeat(this.#indent)}`);
    this.#column = this.#indent;
    this.#closed = false;
  }

  #endRow(): void {
    if (this.#passing) this.#write("\r\u001B[K");
    else if (this.#column > 0) this.#write("\n");
    this.#passing = false;
    this.#column = 0;
    this.#closed = false;
  }

  #write(text: string): void {
    this.#out.write(text);
  }
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
