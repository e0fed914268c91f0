export interface ConformanceCase {
  readonly name: string;
  run(): Promise<void>;
}
export function sagaStorageConformance(): readonly ConformanceCase[] {
  return [];
}
