/** Which pages search shows first. */

/**
 * How much more a page counts where it has the word. Runs in the browser as its own text, so it uses nothing
 * from outside.
 */
export const boostPage = (page: string, word: string): number => {
  // What a reader means by a word that many pages have.
  const meant = [
    ["schedul", "/contract/messages"],
    ["cancel", "/contract/messages"],
    ["retr", "/webhooks"],
    ["qr", "/live#"],
    ["docker", "/installing"],
  ] as const
  if (meant.some(([start, path]) => word.startsWith(start) && page.includes(path))) return 20
  // Version 2 first, and those who use the service before those who change it.
  if (/version-1|migration/.test(page)) return 0.1
  if (/\/(?:decisions|project)\/|\/(?:rules|races|writing-a-\w+)(?:#|$)/.test(page)) return 0.2
  if (/\/reference\//.test(page)) return 0.5
  return /\/(?:tutorial|live|installing|recipes|embedding)/.test(page) ? 2 : 1
}
