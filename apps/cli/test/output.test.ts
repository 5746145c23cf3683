/** What people see of a record. */
import { assert, describe, it } from "@effect/vitest"
import type { Machine } from "../src/Machine.ts"
import { makeOutput } from "../src/Output.ts"
import { run } from "../src/run.ts"
import { aMachine } from "./aMachine.ts"

const printed = (item: object): string => {
  let output = ""
  makeOutput(aMachine({ print: (text) => void (output += text) }), { json: false }).one(item)
  return output
}

it("a field is one line, and short nested data is on it", () => {
  const item = { id: 7, numbers: { connected: 2, disconnected: null }, to: ["a", "b"], error: null }
  assert.strictEqual(
    printed(item),
    ["id       7", "numbers  connected 2", "to       a, b", "error    -", ""].join("\n"),
  )
})

it("longer nested data is below its name, and a list of records is a table", () => {
  const message = {
    id: 17,
    status: "queued",
    to: { kind: "phone", phone: "+15550100002" },
    text: "a text that is longer than the room that is left on the line",
    error: null,
  }
  const data = [
    { at: "2030-01-31T07:00:00Z", type: "accepted", attempt: null },
    { at: "2030-01-31T07:00:05Z", type: "postponed", attempt: 2, error: { code: "no_room" } },
  ]
  assert.strictEqual(
    printed({ message, waiting: { for: [{ reason: "sending", until: null }], ahead: 2 }, data }),
    `message
  id      17
  status  queued
  to      kind phone, phone +15550100002
  text    a text that is longer than the room that is left on the line
waiting
  for
    REASON
    sending
  ahead  2
data
  AT                    TYPE       ATTEMPT  ERROR
  31 Jan 2030 07:00:00  accepted   -        -
  31 Jan 2030 07:00:05  postponed  2        code no_room
`,
  )
})

describe("a table", () => {
  const printTable = async (
    own: Partial<Machine>,
    how: { readonly json: boolean; readonly utc?: boolean },
  ) => {
    let output = ""
    const machine = aMachine({
      now: () => Date.parse("2030-07-31T12:00:00Z"),
      timeZone: "Europe/London",
      print: (text) => void (output += text),
      ...own,
    })
    const rows = [
      { id: 1, at: "2030-07-31T07:00:05Z", text: "A text that says at 2030-07-31T07:00:05Z." },
      { id: 2, at: "2029-12-31T23:30:00.250Z", text: "Short." },
    ]
    await makeOutput(machine, how).all(rows, ["id", "at", "text"])
    return output
  }

  it("has times of the machine's zone, with --utc of UTC, and with --json as they came", async () => {
    assert.match(
      await printTable({}, { json: false }),
      /1 {3}31 Jul 08:00:05 .*\n2 {3}31 Dec 2029 23:30:00 /,
    )
    assert.match(await printTable({}, { json: false, utc: true }), /1 {3}31 Jul 07:00:05 /)
    assert.include(await printTable({}, { json: true, utc: true }), '"at":"2030-07-31T07:00:05Z"')
  })

  it("fits a terminal: the widest column is cut, and nothing elsewhere", async () => {
    const narrow = await printTable({ width: 60 }, { json: false })
    assert.strictEqual(Math.max(...narrow.split("\n").map((line) => line.length)), 60)
    assert.match(narrow, /A text that says at 2030-07-31T07…\n/)
    assert.include(await printTable({}, { json: false }), "at 2030-07-31T07:00:05Z.")
  })
})

it("a reminder without a next run says why, and is paused only when it is not active", async () => {
  const reminder = {
    to: { phone: "+15550100002" },
    schedule: { cron: "0 9 * * *", timezone: "UTC" },
    next_run_at: null,
    last_run: null,
  }
  const refused = { outcome: "refused", error: { code: "invalid_timezone", message: "Gone." } }
  const data = [
    { ...reminder, id: 1, active: false },
    { ...reminder, id: 2, active: true },
    { ...reminder, id: 3, active: true, last_run: refused },
  ]
  let output = ""
  const machine = aMachine({
    env: { MESSAGING_KEY: `svc_live_${"A".repeat(38)}` },
    print: (text) => void (output += text),
    fetch: () => Promise.resolve(Response.json({ data, next_cursor: null })),
  })
  assert.strictEqual(await run(["reminders", "list"], machine), 0)
  assert.match(output, /\n1 .* paused .*\n2 .* held since a restore .*\n3 .* none: unknown zone /)
})
