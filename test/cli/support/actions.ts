/** What people did, as the console shows it. */
import type { Amends } from "amends";
import type { ActionLine, Page } from "../../../src/console/contract.ts";
import { visit } from "../../console/support/visit.ts";

export async function actionsOf(amends: Amends): Promise<readonly ActionLine[]> {
  const { items } = await visit(amends).get<Page<ActionLine>>("reader", "/api/audit");
  return items;
}
