/**
 * What a send is in SQL: the service's own statements with values such as `POST /messages` gives
 * them, one message to one phone; and the bare INSERT that is their floor.
 */
import {
  answerKeptMillis,
  claimKeptMillis,
  dailyQuota,
  dayStart,
  minuteStart,
} from "@messaging-service/core"
import { acceptStatement, admitStatement, loadStatement } from "@messaging-service/store-postgres"
import { hashSql } from "./fixture.ts"
import { bind } from "./Script.ts"
import type { Script, Variable } from "./Script.ts"

const text = "Hello from the benchmark"
const phone = "+15551234567"

const transportId = "lpad(:drawn::text, 20, '0')"
const idempotencyKey = "'key ' || :drawn::text"
const token = "lpad(:drawn::text, 32, '0')"
const fingerprint = "0".repeat(64)

/** Colons would be variables: whatever holds one goes in as a variable itself. */
const variables = (workspaces: number): Readonly<Record<string, Variable>> => {
  const now = Date.now()
  const iso = new Date(now).toISOString()
  const minute = new Date(minuteStart(now)).toISOString()
  const today = new Date(dayStart(now)).toISOString()
  return {
    id: { from: 1, to: workspaces },
    drawn: { from: 1, to: 9_000_000_000_000_000 },
    now: iso,
    minute,
    today,
    head: '[{"workspaceId":',
    tail:
      `,"mode":"live","seen":["live"],"now":"${iso}","from":null,"phones":["${phone}"],"contactIds":[],` +
      `"mediaId":null,"exactQuota":null,"idempotency":`,
    claim_head: `{"fingerprint":"${fingerprint}","keyId":`,
    claim_key: ',"key":"',
    claim_token: '","token":"',
  }
}

const admit = bind(admitStatement, [
  `array[${hashSql(":id")}]`,
  "array[2]",
  "array[:now]",
  "array[:minute]",
  "array[:today]",
  "array['127.0.0.1']",
  "array[1]",
])

const load = (claimed: boolean) => {
  const claim = claimed
    ? `:claim_head::text || :id::text || :claim_key::text || ${idempotencyKey} || ` +
      `:claim_token::text || ${token} || '"}'`
    : "'null'"
  return bind(loadStatement, [
    `(:head::text || :id::text || :tail::text || ${claim} || '}]')`,
    String(claimKeptMillis),
    String(answerKeptMillis),
  ])
}

/** The parameters of `accept_messages`, in their order. */
const accept = (claimed: boolean) =>
  bind(acceptStatement, [
    "array[:now]::timestamptz[]",
    "array[:id]::bigint[]",
    "array[:id]::bigint[]",
    "array[true]",
    "array[1]",
    "array[:now]::timestamptz[]",
    "array[1]",
    "array[:now]::timestamptz[]",
    "array[1]",
    `array[${dailyQuota.messages}]`,
    `array[${dailyQuota.windowMillis}]::bigint[]`,
    claimed ? "array[:id]::bigint[]" : "array[null]::bigint[]",
    claimed ? `array[${idempotencyKey}]` : "array[null]::text[]",
    claimed ? `array['${fingerprint}']` : "array[null]::text[]",
    claimed ? `array[${token}]` : "array[null]::text[]",
    "array[1]",
    "array[:now]::timestamptz[]",
    "array[:now]::timestamptz[]",
    "array[null]::timestamptz[]",
    "array[null]::timestamptz[]",
    "array[null]::bigint[]",
    "array[null]::bigint[]",
    "array['whatsapp']",
    "array['15550000001']",
    "array['phone']",
    `array['${phone}']`,
    "array[null]::text[]",
    `array['${text}']`,
    "array[null]::text[]",
    "array[null]::text[]",
    "array[null]::text[]",
    `array[${transportId}]`,
    "array[null]::bigint[]",
    "array[null]::text[]",
  ])

const bareInsert = `
insert into messages (
  workspace_id, number_id, created_at, due_at, allowance_taken, mode, state, platform, from_phone,
  to_kind, to_phone, text, transport_id
)
values (
  :id, :id, :now, :now, true, 'live', 'waiting', 'whatsapp', '15550000001', 'phone', '${phone}',
  '${text}', ${transportId}
)`

const script = (statements: ReadonlyArray<string>, workspaces: number): Script => ({
  statements,
  variables: variables(workspaces),
})

/** One insert into the messages' table, with all its indexes. */
export const insertScript = (workspaces: number) => script([bareInsert], workspaces)

/** The one statement that accepts. */
export const acceptScript = (workspaces: number) => script([accept(false)], workspaces)

/** All that a `POST /messages` asks of the database: three statements, three transactions. */
export const postScript = (workspaces: number, claimed = false) =>
  script([admit, load(claimed), accept(claimed)], workspaces)

/** Loading and accepting, with or without an `Idempotency-Key`. */
export const sendScript = (workspaces: number, claimed: boolean) =>
  script([load(claimed), accept(claimed)], workspaces)
