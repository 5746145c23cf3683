/** The error catalogue as a page, made from the catalogue itself: an anchor for each code. */
import { catalogue } from "@messaging-service/core"

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const row = ([code, entry]: readonly [string, (typeof catalogue)[keyof typeof catalogue]]) => {
  const status =
    entry.pathStatus === undefined ? entry.status : `${entry.status}, ${entry.pathStatus} in a path`
  const details = [...(entry.details ?? []), ...(entry.optionalDetails ?? [])]
    .map((name) => `<code>${escape(name)}</code>`)
    .join(", ")
  return `<tr id="${code}"><td><a href="#${code}"><code>${code}</code></a></td><td>${status}</td><td>${escape(entry.message)}</td><td>${details}</td></tr>`
}

/** HTML that loads nothing else, and so works offline. */
export const errorPage: string = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Error catalogue</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #ccc; padding: 0.4rem 0.8rem 0.4rem 0; text-align: left; vertical-align: top; }
tr:target { background: #ffd; }
</style>
<h1>Error catalogue</h1>
<p>Every error has a real HTTP status and a body <code>{"error": {…}}</code> whose <code>code</code> is
one of these. Codes are stable; texts may change.</p>
<table>
<thead><tr><th>code</th><th>HTTP</th><th>meaning</th><th>extra fields</th></tr></thead>
<tbody>
${Object.entries(catalogue).map(row).join("\n")}
</tbody>
</table>
</html>
`
