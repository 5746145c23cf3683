/** What every page of the dashboard is answered with. Proven against the built files in Chromium. */

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ")

export const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
}

/** Files with a hash in their name never change; all others are asked for again by their tag. */
export const cacheControlOf = (path: string): string =>
  path.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache"

/** The page for that base path, which begins and ends with a slash. The built file has `./` in its place. */
export const pageFor = (html: string, base: string): string => html.replaceAll('="./', `="${base}`)

/** The first segments of the dashboard's own addresses: whatever else is unknown stays a 404. */
const pages = ["", "sign-in", "portal", "workspaces", "w", "service"]

/** Whether the page answers that path, given without the base path and its slash. */
export const isPage = (path: string): boolean => pages.includes(path.split("/", 1)[0] ?? "")
