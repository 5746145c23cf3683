/** The bounds of browser sessions in `docs/security.md` are those of the code. */
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { operatorIdleMillis } from "../../src/store/BrowserSessionStore.ts"
import {
  linkMillis,
  sessionLimit,
  sessionRequestsPerMinute,
  unusedLinks,
} from "../../src/service/BrowserSessions.ts"

const root = resolve(import.meta.dirname, "../../../..")
const page = readFileSync(resolve(root, "docs/security.md"), "utf8")

/** The operator's and the portal's cell of a row. */
const row = (name: string): ReadonlyArray<string> => {
  const line = page.split("\n").find((each) => each.startsWith(`| ${name}`)) ?? ""
  return line
    .split("|")
    .slice(2, 4)
    .map((cell) => cell.trim())
}

it("the page on security has the bounds of browser sessions", () => {
  const source = readFileSync(resolve(root, "packages/core/src/service/BrowserSessions.ts"), "utf8")
  const [, hours] = /operatorSessionMillis = (\d+) \* 3_600_000/.exec(source) ?? []
  assert.deepStrictEqual(row("a session lasts")[0], `${hours} hours`)
  assert.deepStrictEqual(
    row("it ends without a request")[0],
    `${operatorIdleMillis / 3_600_000} hours`,
  )
  assert.deepStrictEqual(row("sessions at once"), [
    `${sessionLimit}`,
    `${sessionLimit} of a workspace`,
  ])
  assert.deepStrictEqual(row("unused links"), ["", `${unusedLinks} of a workspace`])
  const requests = `${sessionRequestsPerMinute}`
  assert.deepStrictEqual(row("requests of a session"), [requests, requests])
  assert.include(page, `within ${linkMillis / 60_000} minutes`)
})
