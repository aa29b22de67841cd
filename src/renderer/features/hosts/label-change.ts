/** What turns one set of labels into another: those to set, and keys to take away. */
export function labelChange(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): { set: Record<string, string>; remove: string[] } {
  return {
    set: Object.fromEntries(Object.entries(after).filter(([key, value]) => before[key] !== value)),
    remove: Object.keys(before).filter((key) => !(key in after)),
  }
}
