/** What erases and forgets deletes a few rows at a time, however much there is (see `erasedAtOnce`). */
import { assert, layer } from "@effect/vitest"
import { erasedAtOnce, Store } from "@messaging-service/core"
import { EmbeddedPostgres, aKey, aStage, day, noon } from "@messaging-service/testkit"
import { Effect } from "effect"
import { layer as layerStores } from "../src/index.ts"
import { aMigratedDatabase, aDatabaseClient, toOptions } from "./databases.ts"

const many = erasedAtOnce * 2 + 200

/** Fails a statement that deletes or changes more rows than may be. */
const watch = [
  `create function refuse_many() returns trigger language plpgsql as $body$
begin
  if (select count(*) from gone) > ${erasedAtOnce} then
    raise exception '% rows of % at once', (select count(*) from gone), tg_table_name;
  end if;
  return null;
end
$body$`,
  `do $body$
declare
  v_table name;
begin
  for v_table in select tablename from pg_tables where schemaname = 'messaging' loop
    execute format(
      'create trigger few_deleted after delete on messaging.%I referencing old table as gone
      for each statement execute function refuse_many()', v_table
    );
    execute format(
      'create trigger few_changed after update on messaging.%I referencing old table as gone
      for each statement execute function refuse_many()', v_table
    );
  end loop;
end
$body$`,
]

const at = (millis: number) => `timestamptz '${new Date(millis).toISOString()}'`

/** So many of everything that a workspace has. */
const fill = (workspace: number, number: number, key: number) => {
  const from = `from generate_series(1, ${many}) place`
  const then = at(noon)
  return [
    `insert into messaging.messages (
      workspace_id, number_id, created_at, due_at, ended_at, allowance_taken, mode, state, platform,
      to_kind, text, transport_id
    )
    select
      ${workspace}, ${number}, ${then}, ${then}, ${then}, false, mode, 'failed', 'whatsapp', 'phone',
      'Hello', mode || place
    ${from} cross join unnest(array['live', 'test']) mode`,
    `insert into messaging.simulated_sent (number_id, transport_id, recipient, text, at)
    select ${number}, 'live' || place, '+15550001234', 'Hello', ${then} ${from}`,
    `insert into messaging.outbox (workspace_id, message_id, created_at, event_id, type, mode, body)
    select ${workspace}, place, ${then}, 'evt_' || place, 'message.failed', 'live', '{}' ${from}`,
    `insert into messaging.contacts (workspace_id, name, address, created_at)
    select ${workspace}, 'Ada', 'phone' || place, ${then} ${from}`,
    `insert into messaging.lane_recipients (number_id, recipient, first_sent_at)
    select ${number}, 'phone' || place, ${then} ${from}`,
    `insert into messaging.idempotency_records (key_id, key, fingerprint, made_ids, created_at)
    select key_id, 'key' || place, '', '{1}', ${then} ${from} cross join unnest(array[${key}, 777]) key_id`,
    `insert into messaging.idempotency_claims (key_id, key, fingerprint, token, claimed_at)
    select key_id, 'key' || place, '', '', ${then} ${from} cross join unnest(array[${key}, 777]) key_id`,
    `insert into messaging.webhook_endpoints (
      workspace_id, key_id, mode, url, description, events, secret_salt, secret_last4,
      first_secret_last4, created_at, removed_at
    )
    select ${workspace}, ${key}, 'live', 'https://example.com', '', '{}', 's', '', '', ${then}, ${then} ${from}`,
    `insert into messaging.webhook_attempts (
      endpoint_id, workspace_id, attempted_at, duration_millis, attempt, event_id, type
    )
    select endpoint_id, workspace_id, ${then}, 1, 1, 'evt_' || place, 'message.failed' ${from}
    cross join (values (1, null), (-5, ${workspace}), (999999, null)) of (endpoint_id, workspace_id)`,
    `insert into messaging.reminders (
      workspace_id, mode, name, active, recipient, text, cron, timezone, created_at, removed_at
    )
    select workspace_id, 'live', 'Rent', true, '{}', 'Pay', '0 9 * * *', 'UTC', ${then}, removed_at
    ${from} cross join (values (${workspace}, null), (${workspace}, ${then})) of (workspace_id, removed_at)`,
    `insert into messaging.reminder_runs (reminder_id, due_at, ran_at, outcome)
    select 999999, ${then}, ${then}, 'missed' ${from}`,
    `insert into messaging.number_checks (
      workspace_id, mode, number_id, status, total, checked, registered, not_registered, created_at,
      completed_at, lease, tries
    )
    select ${workspace}, 'live', ${number}, 'completed', 1, 1, 1, 0, ${then}, ${then}, 0, 0 ${from}`,
    `insert into messaging.number_check_results (check_id, phone, status)
    select 1, '+1555' || place, 'registered' ${from}`,
    `insert into messaging.media_files (
      workspace_id, mode, file_name, type, mime_type, size, storage_key, created_at, state, has_bytes
    )
    select ${workspace}, 'live', 'a.txt', 'file', 'text/plain', 1, '', ${then}, 'deleted', false ${from}`,
    `insert into messaging.api_keys (
      workspace_id, version, name, mode, scopes, last4, hash, created_at, revoked_at
    )
    select ${workspace}, 2, 'Till', 'live', '{}', '', 'hash' || place, ${then}, ${then} ${from}`,
    `insert into messaging.key_windows (
      key_id, minute_start, minute_count, day_start, day_count, last_used_at, last_used_ip
    )
    select k.id, ${then}, 1, ${then}, 1, ${then}, '192.0.2.7' from messaging.api_keys k
    where k.revoked_at is not null`,
    `insert into messaging.numbers (
      workspace_id, phone, label, platform, status, login_method, created_at, removed_at
    )
    select ${workspace}, '1555' || place, 'Till', 'whatsapp', 'connected', 'qr', ${then}, ${then} ${from}`,
  ]
}

const later = noon + 40 * day

/** Housekeeping's other work. */
const forget = Effect.gen(function* () {
  yield* (yield* Store).messages.forgetVoidClaims(later)
  yield* (yield* Store).webhooks.forgetAttempts(later)
  yield* (yield* Store).webhooks.forgetEvents(later)
  yield* (yield* Store).reminders.forget(later)
  yield* (yield* Store).numberChecks.forget(later)
  yield* (yield* Store).media.forget(later)
})

const erase = (id: Effect.Success<ReturnType<typeof aStage>>["workspace"]["id"]) =>
  Effect.gen(function* () {
    const store = (yield* Store).system
    yield* store.eraseTestMessages([id], 10)
    yield* store.eraseRemoved({ now: later, endpointsBefore: later, sessionsBefore: later })
    yield* store.eraseEnded([{ workspaceId: id, endedBefore: Infinity }])
    yield* store.eraseDeleted([{ id, claimants: [777] }], later)
  })

layer(EmbeddedPostgres.shared, { excludeTestServices: true })(
  "statements of housekeeping",
  (it) => {
    it.effect.each([
      ["erase", true],
      ["forget", false],
    ] as const)("%s a few rows at a time", ([, deletes]) =>
      Effect.gen(function* () {
        const database = yield* aMigratedDatabase()
        const client = yield* aDatabaseClient(database)
        const count = (table: string) =>
          Effect.map(
            client.query<{ readonly rows: number }>(
              "count",
              `select count(*)::integer as rows from ${table}`,
            ),
            ([row]) => row?.rows,
          )
        yield* Effect.gen(function* () {
          const { number, workspace } = yield* aStage()
          const { key } = yield* aKey(workspace.id)
          for (const text of fill(workspace.id, number.id, key.id))
            yield* client.query("fill", text)
          for (const text of watch) yield* client.query("watch", text)
          if (!deletes) return yield* forget
          yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, noon)).pipe(
            Effect.provide(layerStores(toOptions(database))),
          )
          yield* erase(workspace.id)
          for (const table of [
            "messages",
            "outbox",
            "contacts",
            "reminders",
            "webhook_endpoints",
          ]) {
            assert.strictEqual(yield* count(table), 0, table)
          }
          const [left] = yield* (yield* Store).system.retainedWorkspaces(workspace.id - 1, 1)
          assert.isUndefined(left)
        }).pipe(Effect.provide(layerStores(toOptions(database))))
        for (const table of ["idempotency_records", "idempotency_claims", "webhook_attempts"]) {
          const kept = deletes && table === "webhook_attempts" ? many : 0
          assert.strictEqual(yield* count(table), kept, table)
        }
      }),
    )
  },
)
