/**
 * What a send is in SQL: the service's own statements with values such as `POST /messages` gives
 * them, one message to one phone; and the bare INSERT that is their floor.
 */
import { dailyQuota, dayStart, minuteStart, requestsPerMinute } from "@messaging-service/core"
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

/**
 * Statements wait for a lock as long as it takes. The service tries again what waited too long, and a script
 * cannot; on a busy machine a client may be interrupted for long while it holds a lane.
 */
const noLockTimeout = 0

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
    head: `[{"lockTimeout":${noLockTimeout},"workspaceId":`,
    tail:
      `,"mode":"live","seen":["live"],"now":"${iso}","from":null,"phones":["${phone}"],"contactIds":[],` +
      `"mediaId":null,"exactQuota":null,"idempotency":`,
    claim_head: `{"fingerprint":"${fingerprint}","keyId":`,
    claim_key: ',"key":"',
    claim_token: '","token":"',
  }
}

const admit = bind(admitStatement, {
  hash: `array[${hashSql(":id")}]`,
  version: "array[2]",
  now: "array[:now]::timestamptz[]",
  minuteStart: "array[:minute]::timestamptz[]",
  dayStart: "array[:today]::timestamptz[]",
  address: "array['127.0.0.1']",
  count: "array[1]",
  minuteLimit: String(requestsPerMinute),
})

const load = (claimed: boolean) => {
  const claim = claimed
    ? `:claim_head::text || :id::text || :claim_key::text || ${idempotencyKey} || ` +
      `:claim_token::text || ${token} || '"}'`
    : "'null'"
  return bind(loadStatement, {
    queries: `(:head::text || :id::text || :tail::text || ${claim} || '}]')`,
  })
}

const accept = (claimed: boolean) =>
  bind(acceptStatement, {
    now: "array[:now]::timestamptz[]",
    workspace: "array[:id]::bigint[]",
    number: "array[:id]::bigint[]",
    live: "array[true]",
    count: "array[1]",
    dueAt: "array[:now]::timestamptz[]",
    allowance: "array[1]",
    quotaAt: "array[:now]::timestamptz[]",
    quotaCount: "array[1]",
    quotaLimit: `array[${dailyQuota.messages}]`,
    quotaWindowMillis: `array[${dailyQuota.windowMillis}]::bigint[]`,
    ...(claimed && {
      claimKeyId: "array[:id]::bigint[]",
      claimKey: `array[${idempotencyKey}]`,
      claimFingerprint: `array['${fingerprint}']`,
      claimToken: `array[${token}]`,
    }),
    lockTimeout: String(noLockTimeout),
    mAcceptance: "array[1]",
    mCreatedAt: "array[:now]::timestamptz[]",
    mDueAt: "array[:now]::timestamptz[]",
    mPlatform: "array['whatsapp']",
    mFromPhone: "array['15550000001']",
    mToKind: "array['phone']",
    mToPhone: `array['${phone}']`,
    mText: `array['${text}']`,
    mTransportId: `array[${transportId}]`,
  })

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
