/** Which Node this package needs. */

/** As `engines` of the package says. */
const needed = { major: 22, minor: 19 }

/** Versions as `process.versions` has them, where there is such an object. */
interface Versions {
  readonly node?: string | undefined
  readonly bun?: string | undefined
  readonly deno?: string | undefined
}

/** One line that says which Node is needed; null unless that is an older Node. */
export const olderNode = (versions: Versions | undefined): string | null => {
  // Other runtimes name a Node that they resemble.
  if (versions?.node === undefined || versions.bun !== undefined || versions.deno !== undefined) {
    return null
  }
  const [major = 0, minor = 0] = versions.node.split(".").map(Number)
  return major > needed.major || (major === needed.major && minor >= needed.minor)
    ? null
    : `The messaging service needs Node ${needed.major}.${needed.minor} or later; this is Node ${versions.node}.`
}
