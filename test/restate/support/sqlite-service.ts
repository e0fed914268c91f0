/** Works on the stories in a SQLite file. */
import { Amends } from "../../../src/index.ts";
import { sqlite } from "../../../src/sqlite.ts";
import { dyingStories } from "./dying.ts";
import { Ledger } from "./ledger.ts";

const { AMENDS_LEDGER: ledger = "", AMENDS_FILE: file = "" } = process.env;
const sagas = Object.values(dyingStories(new Ledger(ledger))).map(({ saga }) => saga);
const amends = new Amends({ database: sqlite(file), sagas, lease: "1s" });
await amends.worker({ poll: "50ms" }).start();
console.log("ready");
