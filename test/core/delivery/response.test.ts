import { expect, it } from "vitest";
import { statusMeaning } from "../../../src/core/delivery/response.ts";

it("[W-17] every status means one thing: 2xx success, 3xx redirect, 410 gone, the rest failure", () => {
  for (let status = 200; status < 1_000; status++) {
    const { ok, code, gone } = statusMeaning(status);
    expect([status, ok]).toEqual([status, status < 300]);
    expect([status, gone]).toEqual([status, status === 410]);
    const label = status >= 300 && status < 400 ? "redirect" : status === 410 ? "gone" : `http_${status}`;
    expect(code).toBe(label);
  }
});
