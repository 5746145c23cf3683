/** Every operation on the right side of the tables of `docs/moving.md` exists. */
import { open } from "@messaging-service/service"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"

const page = readFileSync(join(import.meta.dirname, "../../../docs/moving.md"), "utf8")

/** Cells of the right column. */
const ours = [...page.matchAll(/^\| [^|]+\|([^|]+)\|$/gm)].map(([, cell = ""]) => cell)

it("the page on moving names operations that exist", async () => {
  const messaging = await open({ http: { operatorToken: "an operator token for this page alone" } })
  const response = await messaging.handler(new Request("http://127.0.0.1/openapi.json"))
  const { paths } = (await response.json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }
  await messaging.close()
  const known = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).map(
      (method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, "{}")}`,
    ),
  )
  const named = ours.flatMap((cell) => [...cell.matchAll(/`((?:GET|POST|DELETE) [^`]+)`/g)])
  assert.isAbove(named.length, 15)
  for (const [, operation = ""] of named) {
    assert.include(known, operation.replaceAll(/\{\w+\}/g, "{}"))
  }
})
