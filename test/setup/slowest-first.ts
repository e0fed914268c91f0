/**
 * The order of the test files. Vitest runs those first that took longest the last time, and in a fresh clone the largest.
 * Files that start processes or a browser are small and slow: left to the end they would run while the other workers
 * have nothing to do, so they come first.
 */
import path from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { root } from "../../tools/project.mjs";
import { needsOf } from "../../tools/test-files.mjs";

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is the sequencer's, not an array's
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      const slow = new Set(own.filter(startsProcesses));
      return [...slow, ...own.filter((file) => !slow.has(file))];
    });
  }
}

function startsProcesses({ moduleId }: TestSpecification): boolean {
  return needsOf(path.relative(root, moduleId).split(path.sep).join("/")).length > 0;
}
