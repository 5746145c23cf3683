/**
 * One text for all spellings of a value: keys in code unit order, no white space. Two bodies that mean the same have the
 * same canonical text, which idempotency fingerprints rest on. Fields that are undefined are left out.
 */
export const canonicalJson = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value)
    // Not JSON.stringify: it writes the infinity that 1e400 is read as like null.
    case "number":
    case "boolean":
      return String(value)
  }
  if (typeof value !== "object" || value === null) return "null"
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
  return `{${members.join(",")}}`
}
