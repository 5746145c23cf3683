/**
 * The API at a glance: every operation by its group, as HTML that loads nothing. Each leads to its place on
 * the page to read and try out, which is large and therefore apart.
 */
import type { JsonObject } from "../openapi/Operation.ts"

/** The page to read and try out. */
export const explorerPath = "/docs/operations"

export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** As far as this page reads the document. */
interface Document {
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly "x-tagGroups": ReadonlyArray<{
    readonly name: string
    readonly tags: ReadonlyArray<string>
  }>
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly tags: ReadonlyArray<string>; readonly summary: string }>>
    >
  >
}

const toSlug = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, "-")
    .replaceAll(/^-|-$/g, "")

const tagSection = ({ paths, tags }: Document, tag: string, explorer: string): string => {
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags.includes(tag))
      .map(([name, { summary }]) => {
        const method = name.toUpperCase()
        // The explorer names its places by this rule.
        const link = `${explorer}#tag/${toSlug(tag)}/${method}${path}`
        return `<tr><td>${method}</td><td><code>${escapeHtml(path)}</code></td><td><a href="${escapeHtml(link)}">${escapeHtml(summary)}</a></td></tr>`
      }),
  )
  // Calls that the service makes have no path of it.
  if (rows.length === 0) return ""
  const about = tags.find(({ name }) => name === tag)?.description ?? ""
  return `<h3>${escapeHtml(tag)}</h3>
<p>${escapeHtml(about)}</p>
<table><tbody>
${rows.join("\n")}
</tbody></table>`
}

export const apiIndex = (document: JsonObject, publicUrl: string): string => {
  const known = document as unknown as Document
  const explorer = `${publicUrl}${explorerPath}`
  const groups = known["x-tagGroups"].map(
    ({ name, tags }) =>
      `<h2 id="${toSlug(name)}">${escapeHtml(name)}</h2>
${tags.map((tag) => tagSection(known, tag, explorer)).join("\n")}`,
  )
  const jumps = known["x-tagGroups"].map(
    ({ name }) => `<a href="#${toSlug(name)}">${escapeHtml(name)}</a>`,
  )
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td { border-bottom: 1px solid #ccc; padding: 0.3rem 0.8rem 0.3rem 0; vertical-align: top; }
td:first-child { width: 5rem; }
td:nth-child(2) { width: 60%; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #16181d; color: #ddd; } a { color: #8ab4f8; } }
</style>
<h1>API reference</h1>
<p>Choose an operation to read its fields and answers, and to try it out. That page loads about 4 MB once
(1 MB compressed).</p>
<p>${jumps.join(" · ")} · <a href="${escapeHtml(`${publicUrl}/docs/errors`)}">Error catalogue</a> ·
<a href="${escapeHtml(`${publicUrl}/openapi.json`)}">OpenAPI document</a></p>
${groups.join("\n")}
</html>
`
}
