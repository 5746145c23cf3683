import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { Time } from "../src/Entry.ts"
import { writeJson } from "../src/writeJson.ts"

const Example = Schema.Struct({
  id: Schema.Int,
  sendAt: Schema.NullOr(Time),
  jitterMillis: Schema.optionalKey(Schema.Int),
  to: Schema.Union([
    Schema.Struct({ phone: Schema.String, contactId: Schema.NullOr(Schema.Int) }),
    Schema.Struct({ group: Schema.String }),
  ]),
  values: Schema.Record(Schema.String, Schema.String),
  steps: Schema.Array(Schema.Struct({ endedAt: Time })),
})

it("a record is written with JSON's names and times, and without what its schema does not have", () => {
  const record = {
    steps: [{ endedAt: 1999 }],
    workspaceId: 3,
    id: 7,
    sendAt: null,
    to: { kind: "phone", contactId: null, phone: '+1"' },
    values: { fullName: "Ada" },
  }
  assert.strictEqual(
    writeJson(Example, record),
    `{"id":7,"send_at":null,"to":{"contact_id":null,"phone":"+1\\""},"values":{"fullName":"Ada"},"steps":[{"ended_at":"1970-01-01T00:00:01Z"}]}`,
  )
  assert.strictEqual(
    writeJson(Example, { ...record, sendAt: 0, jitterMillis: 5, to: { group: "Team" }, steps: [] }),
    `{"id":7,"send_at":"1970-01-01T00:00:00Z","jitter_ms":5,"to":{"group":"Team"},"values":{"fullName":"Ada"},"steps":[]}`,
  )
})
