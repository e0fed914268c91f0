import { saga } from "../../dist/index.js";
import { numbered } from "./trivial-sagas.mjs";

/** A saga of one step that tells the instant of its act. @param {(instant: number) => void} tell */
export const sagaThatTells = (tell) =>
  saga("telling", numbered).step("tell", { act: () => tell(performance.timeOrigin + performance.now()) });
