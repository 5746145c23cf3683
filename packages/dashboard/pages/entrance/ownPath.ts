/** Where an address may lead after signing in: a path of this host. Undefined for anything else. */
export const ownPath = (to: unknown, origin: string): string | undefined => {
  if (typeof to !== "string" || !to.startsWith("/") || !URL.canParse(to, origin)) return undefined
  // As a browser reads it: `/\elsewhere` and a tab between two slashes are another host's addresses.
  const url = new URL(to, origin)
  const path = url.pathname + url.search + url.hash
  return url.origin === origin && !path.startsWith("//") ? path : undefined
}
