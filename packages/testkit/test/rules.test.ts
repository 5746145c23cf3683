/**
 * docs/rules.md lists every rule with its homes; this suite compares the list with the sources in
 * both directions: everything that a store runs, repeats or compares by itself is a listed rule.
 */
import { assert, it } from "@effect/vitest"
import * as ports from "@messaging-service/core"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")
const read = (file: string): string => readFileSync(resolve(root, file), "utf8")

const comparisons = "packages/store-postgres/test/rules"

/** A cell's references: files, and after a colon the exports of the last of them. */
const named = (cell: string) =>
  cell.split("; ").map((part) => {
    const [files = "", names = ""] = part.split(": ")
    const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? "")
    return { files: quoted(files), names: quoted(names) }
  })

const rules = read("docs/rules.md")
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(2)
  .map((line) => {
    const [rule = "", core = "", memory = "", sql = "", tests = ""] = line
      .split("|")
      .slice(1)
      .map((cell) => cell.trim())
    return {
      rule,
      core: named(core),
      memory: named(memory),
      sql: named(sql),
      tests: tests.split("; "),
    }
  })

const compared = readdirSync(resolve(root, comparisons))
  .map((file) => read(`${comparisons}/${file}`))
  .join("\n")

const sqlHome = (file: string): string =>
  read(`packages/store-postgres/${file.startsWith("sql/") ? file : `src/${file}`}`)

const assertExports = (source: string, names: ReadonlyArray<string>, file: string) => {
  for (const name of names) {
    assert.match(source, new RegExp(`export (const|function\\*?) ${name}\\b`), `${file}: ${name}`)
  }
}

/** The names that any import of the module brings, under their own names. */
const importedFrom = (source: string, module: string): ReadonlyArray<string> =>
  [...source.matchAll(/import (?:type )?(?:\{([^}]*)\}|\* as (\w+)) from "([^"]+)"/g)].flatMap(
    ([, names, whole = "", from = ""]) => {
      if (!from.endsWith(module)) return []
      return names === undefined
        ? [...source.matchAll(new RegExp(`\\b${whole}\\.(\\w+)`, "g"))].map(
            ([, name]) => name ?? "",
          )
        : names.split(",").map((name) => name.trim().split(" as ")[0] ?? "")
    },
  )

it.effect.each(rules)("$rule: core has it and the memory store runs it", ({ core, memory }) =>
  Effect.sync(() => {
    const names = core.flatMap((home) => home.names)
    assert.isNotEmpty(names)
    for (const { files, names: exported } of core) {
      for (const file of files) assertExports(read(`packages/core/src/${file}`), exported, file)
    }
    for (const { files } of memory) {
      for (const file of files) {
        const source = read(`packages/store-memory/src/${file}`)
        const imported = importedFrom(source, "@messaging-service/core")
        assert.isTrue(
          names.some((name) => imported.includes(name)),
          `${file} does not run it`,
        )
      }
    }
  }),
)

it.effect.each(rules)("$rule: what SQL repeats is compared with core", ({ core, sql, tests }) =>
  Effect.sync(() => {
    const names = core.flatMap((home) => home.names)
    const asked = importedFrom(compared, "@messaging-service/core")
    for (const { files, names: repeated } of sql) {
      for (const file of files) {
        if (repeated.length === 0) {
          const imported = importedFrom(sqlHome(file), "@messaging-service/core")
          assert.isTrue(
            names.some((name) => imported.includes(name)),
            `${file} does not ask core`,
          )
          assert.deepStrictEqual(tests, ["asks core"])
          continue
        }
        if (file.endsWith(".sql")) {
          for (const name of repeated) {
            assert.include(sqlHome(file), `create function ${name}(`, file)
            assert.match(compared, new RegExp(`\\b${name}\\(`), `${name} is not compared`)
          }
        } else {
          assertExports(sqlHome(file), repeated, file)
          const compares = importedFrom(compared, `/src/${file}`)
          for (const name of repeated) assert.include(compares, name)
        }
        assert.isTrue(
          names.some((name) => asked.includes(name)),
          `${file} is not compared`,
        )
        for (const test of tests) assert.include(compared, `it.effect("${test}"`)
      }
    }
  }),
)

const postgres = resolve(root, "packages/store-postgres")

/** The functions' files and the TypeScript that holds statements, without comments. */
const sqlTexts: ReadonlyArray<readonly [file: string, code: string]> = ["sql", "src"].flatMap(
  (folder) =>
    readdirSync(resolve(postgres, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /(?<!generated)\.(ts|sql)$/.test(file) && file !== "schema.sql")
      .map(
        (file) =>
          [
            `${folder}/${file}`,
            read(`packages/store-postgres/${folder}/${file}`).replaceAll(
              /^ *(\/\*|\*|\/\/|--).*$/gm,
              "",
            ),
          ] as const,
      ),
)

/** What SQL says of a rule, in `rules.sql` alone. */
const onceInSql: ReadonlyArray<readonly [what: string, words: RegExp]> = [
  ["expiry of messages", /(?<!past|hold)\bm\.expires_at (<|>|is null)/],
  ["expiry of keys", /\b(k|key)\)?\.expires_at (<|>|is null)/],
  ["which lanes can be claimed", /connected or /],
  ["messages of limited plans", /plan_messages_remaining is /],
  ["shares of workspaces", /array_position\([^,]*workspaces/],
  ["subscriptions", /type = any \(e/],
  ["which endpoints run", /disabled_reason is (not )?null/],
  ["when an attempt at linking ends", /ends_at (<|>)/],
  ["which files have ended", /'deleted', 'discarded'\)/],
  ["when a check is complete", /'completed' else/],
]

it.effect.each(onceInSql)("%s: rules.sql says it, and nothing else", ([, words]) =>
  Effect.sync(() => {
    const found = sqlTexts.flatMap(([file, code]) => (words.test(code) ? file : []))
    assert.deepStrictEqual(found, ["sql/rules.sql"])
  }),
)

/** The files of a store, by their names below its `src`; generated ones aside. */
const listSources = (store: string): ReadonlyArray<readonly [file: string, code: string]> => {
  const folder = resolve(root, `packages/${store}/src`)
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".generated.ts"))
    .map((file) => [file, readFileSync(resolve(folder, file), "utf8")])
}

const namedRules = new Set(rules.flatMap(({ core }) => core.flatMap((home) => home.names)))

/** Functions of the core that the memory store calls and that decide nothing. */
const decideNothing = new Set(["getContent", "nextCheckAt", "toTarget"])

it.effect("every function of the core that the memory store runs is in the table", () =>
  Effect.sync(() => {
    const functions = new Set(
      Object.entries(ports).flatMap(([name, one]) =>
        typeof one === "function" && /^[a-z]/.test(name) ? name : [],
      ),
    )
    const run = listSources("store-memory").flatMap(([file, code]) =>
      importedFrom(code, "@messaging-service/core").flatMap((name) =>
        functions.has(name) && !decideNothing.has(name) ? { file, name } : [],
      ),
    )
    assert.isAbove(run.length, 50)
    for (const { file, name } of run) assert.isTrue(namedRules.has(name), `${file}: ${name}`)
  }),
)

/** Functions of `rules.sql` that say no rule of the core: how things are shown, and parts of rules. */
const noRules = new Set([
  "answered_chat",
  "callback_lane",
  "campaign_looks",
  "counted_after",
  "copy_waits_for",
  "counted_rows",
  "epoch_millis",
  "find_quoted",
  "find_received",
  "first_to_leave",
  "head_holds_until",
  "held_of",
  "has_chat_with",
  "held_in_quota",
  "if_ever",
  "instant_text",
  "is_given_up",
  "is_held",
  "is_held_by_restore",
  "is_known_recipient",
  "is_in_same_window",
  "is_open",
  "is_open_chat",
  "is_waiting",
  "limits_recipients",
  "look_after",
  "next_campaigns",
  "next_copies",
  "next_deliveries",
  "next_due_opened",
  "next_expiry",
  "next_files",
  "next_lanes",
  "next_linking",
  "next_number_checks",
  "next_orphaned",
  "next_pauses",
  "next_read_marks",
  "next_reminders",
  "next_test_messages",
  "pause_end",
  "pending_rows",
  "people_at",
  "planned_time",
  "reading_test_phones",
  "received_mark",
  "recipients_capped_until",
  "restricts",
  "row_code",
  "row_status",
  "sends_capped_until",
  "sent_after",
  "shown_campaign",
  "shown_chat",
  "shown_message",
  "shown_phone",
  "shown_received",
  "subscribes",
  "test_ticks",
])

it.effect("every rule of rules.sql is in the table", () =>
  Effect.sync(() => {
    const created = [...sqlHome("sql/rules.sql").matchAll(/create function (\w+)/g)]
    const listed = new Set(rules.flatMap(({ sql }) => sql.flatMap(({ names }) => names)))
    assert.isAbove(created.length, 60)
    for (const [, name = ""] of created) {
      assert.isTrue(listed.has(name) !== noRules.has(name), name)
    }
  }),
)

/** What stores compare by themselves, since it is what they are asked for and no rule. */
const asked: ReadonlyArray<readonly [what: string, words: RegExp]> = [
  ["what is due", /^([\w.]*dueAt|at|paused) (<=|>) (([\w.]*\.)?now|dueUntil)$/],
  ["the same in SQL", /(due|due_at|next_run_at|\.due_at\)) (<=|>) (\$|[cp]_)now$/],
  ["since when lanes are due", /^at < dueSince$/],
  ["how many messages may wait in a queue", /^\) > c_queue_limit$/],
  ["its place in an order", /^(time <= sentAt|[\w.]+dueAt <= after|row\.chat\.activity < before)$/],
  [
    "the period of a list",
    /(created|attempted|received)(At|_at) (>=|<) (filter\.|\$|p_)?(since|until)$/,
  ],
  [
    "since when conversations are on",
    /(receivedAt|toldAt|0\)) >= conversations\.since$|^r\.received_at >= s\.since$|v_wait\.told_at >= s\.since$/,
  ],
  ["which waits for copies have ended", /^wait\) <= now$|w\.waits_until <= p_now$/],
  [
    "how long something is kept",
    /(At|_at|hour) (<|>=) (\$|[pv]_)?(before|\w+Before|marks_before)$/,
  ],
  ["the span of figures", /^one\.hour (>=|<) (from|until)$/],
  ["which rows of a campaign are due", /^row\.sendAt <= now$/],
  ["which of them have expired", /^Infinity\) <= now$|(own|v_campaign)\.expires_at <= p_now$/],
  ["which read marks are due", /markDue <= now$/],
  ["which pauses have ended", /^l\) <= p_now$/],
  ["which waits for new chats are over", /^((l|v_lane)\.new_chats_until <= p_now|until <= now)$/],
  ["which messages were due at a look", /^message\.dueAt (<=|>) at$/],
  ["what has happened since a look", /^entry\.wokenAt >= now$/],
  ["until when an upload goes on", /upload(\.|_)until (<|>) (p_)?now$/],
  ["from which row a campaign goes on", /r\.row < p_skip_before$/],
  [
    "how much is asked for",
    /length >= (query\.)?limit$|p_limit (<=|>) (0|p_per_workspace)$|<= p_limit$/,
  ],
]

const momentOrLimit =
  /(^|[.$_a-z)])(now|before|since|until|limit|limit_bytes|limitBytes)$|[a-z](At|Until|Since|Before)$/

it.effect.each([
  ["store-memory", listSources("store-memory")],
  ["store-postgres", sqlTexts],
] as const)(
  "%s compares moments and limits only where it runs a rule, or as it was asked",
  ([, sources]) =>
    Effect.sync(() => {
      const found = sources.flatMap(([file, code]) => {
        // The home of rules; and these know nothing of what they hold.
        if (file === "sql/rules.sql") return []
        if (file === "collections.ts" || /^src\/(database|pglite)\//.test(file)) return []
        const compared = code
          .replaceAll(/^ *(\/\*|\*|\/\/|--).*$/gm, "")
          .matchAll(/([\w.$)]+) (?:<=|>=|<|>) ([\w.(]+|\$\w+)/g)
        return [...compared].flatMap(([text, left = "", right = ""]) =>
          (momentOrLimit.test(left) || momentOrLimit.test(right)) &&
          !asked.some(([, words]) => words.test(text))
            ? `${file}: ${text}`
            : [],
        )
      })
      assert.deepStrictEqual(found, [])
    }),
)

it.effect("every comparison is named in the table", () =>
  Effect.sync(() => {
    const listed = new Set(rules.flatMap(({ tests }) => tests))
    const created = [...compared.matchAll(/it\.effect\("([^"]+)"/g)].map(([, name]) => name ?? "")
    assert.isNotEmpty(created)
    for (const name of created) assert.isTrue(listed.has(name), name)
  }),
)
