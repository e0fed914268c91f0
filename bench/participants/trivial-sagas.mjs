// The sagas that are measured. Their schema is written by hand so that no schema library's cost is measured with them.
import { saga } from "../../dist/index.js";

export const numbered = {
  "~standard": {
    version: 1,
    vendor: "amends-bench",
    validate: (value) =>
      typeof value?.n === "number" ? { value } : { issues: [{ message: "must be a number", path: ["n"] }] },
  },
};

const act = () => ({ n: 1 });

export const five = saga("five", numbered)
  .step("a", { act })
  .step("b", { act })
  .step("c", { act })
  .step("d", { act })
  .step("e", { act });

export const single = saga("single", numbered).step("a", { act });
