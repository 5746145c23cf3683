/** `BrowserSessionStore`: which session is valid, what is counted, and that a link works once. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type {
  NewBrowserSession,
  NewSignInLink,
  SessionQuery,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { present } from "../Expect.ts"
import type { Topic } from "../Topic.ts"
import { aHash, admitsAll, anEra, aWorkspace, day, hour, minute } from "../Records.ts"

const many = 10_000

const aSession = (
  at: number,
  workspaceId: WorkspaceId | null,
  overrides: Partial<NewBrowserSession> = {},
) =>
  Effect.gen(function* () {
    const store = (yield* Store).browserSessions
    const session: NewBrowserSession = {
      hash: aHash(),
      workspaceId,
      role: "owner",
      returnUrl: null,
      tokenMark: workspaceId === null ? "a token" : null,
      createdAt: at,
      expiresAt: at + 12 * hour,
      ...overrides,
    }
    yield* store.insert(session, many)
    return session
  })

const aLink = (
  at: number,
  workspaceId: WorkspaceId | null,
  overrides: Partial<NewSignInLink> = {},
) =>
  Effect.gen(function* () {
    const store = (yield* Store).browserSessions
    const link: NewSignInLink = {
      workspaceId,
      role: "member",
      returnUrl: "https://shop.example/back",
      codeHash: aHash(),
      tokenMark: workspaceId === null ? "a token" : null,
      createdAt: at,
      codeExpiresAt: at + 15 * minute,
      sessionMillis: hour,
      ...overrides,
    }
    yield* store.insertLink(link, many)
    return link
  })

const query = ({ hash }: { readonly hash: string }, now: number): SessionQuery => ({
  hash,
  now,
  tokenMark: "a token",
})

const use = (session: { readonly hash: string }, now: number) =>
  Store.use(({ browserSessions: store }) =>
    store.use({ ...query(session, now), minuteStart: now - (now % minute) }),
  )

const isValid = (session: { readonly hash: string }, now: number) =>
  Store.use(({ browserSessions: store }) => store.isValid(query(session, now)))

const exchange = ({ codeHash }: NewSignInLink, now: number, tokenMark: string | null = "a token") =>
  Store.use(({ browserSessions: store }) => {
    const hash = aHash()
    return Effect.map(store.exchange({ codeHash, hash, now, tokenMark }, many), (session) =>
      session === null ? null : { session, hash },
    )
  })

const validity: Topic = (it) => {
  it.effect("a session is valid until its end, and is shown as it began", () =>
    Effect.gen(function* () {
      const at = anEra()
      const { id } = yield* aWorkspace()
      const { hash, tokenMark, ...shown } = yield* aSession(at, id, {
        role: "administrator",
        returnUrl: "https://shop.example/",
      })
      assert.isNull(tokenMark)
      assert.deepStrictEqual(present(yield* use({ hash }, at)).session, shown)
      assert.isNotNull(yield* use({ hash }, at + 12 * hour - 1))
      assert.isTrue(yield* isValid({ hash }, at + 12 * hour - 1))
      assert.isNull(yield* use({ hash }, at + 12 * hour))
      assert.isFalse(yield* isValid({ hash }, at + 12 * hour))
      assert.isNull(yield* use({ hash: aHash() }, at))
    }),
  )

  it.effect("an operator's session ends two hours after its last request, and with its token", () =>
    Effect.gen(function* () {
      const store = (yield* Store).browserSessions
      const at = anEra()
      const session = yield* aSession(at, null)
      assert.isNotNull(yield* use(session, at + hour))
      assert.isTrue(yield* isValid(session, at + 3 * hour - 1))
      assert.isFalse(yield* isValid(session, at + 3 * hour))
      assert.isNull(yield* use(session, at + 3 * hour))
      for (const tokenMark of ["another token", null]) {
        const other = { ...query(session, at + hour), tokenMark }
        assert.isFalse(yield* store.isValid(other))
        assert.isNull(yield* store.use({ ...other, minuteStart: at }))
      }
    }),
  )

  it.effect("a portal's session needs no token, and may rest", () =>
    Effect.gen(function* () {
      const store = (yield* Store).browserSessions
      const at = anEra()
      const { id } = yield* aWorkspace()
      const session = yield* aSession(at, id)
      assert.isTrue(yield* store.isValid({ ...query(session, at + 11 * hour), tokenMark: null }))
    }),
  )

  it.effect("requests of a session are counted by the clock minute", () =>
    Effect.gen(function* () {
      const at = anEra() + minute
      const start = at - (at % minute)
      const { id } = yield* aWorkspace()
      const session = yield* aSession(at, id)
      const counts = [start, start + minute - 1, start + minute, start, start + 3 * minute]
      const counted = yield* Effect.forEach(counts, (now) => use(session, now))
      assert.deepStrictEqual(
        counted.map((used) => used?.count),
        [1, 2, 1, 2, 1],
      )
    }),
  )

  it.effect("a session that was ended is invalid", () =>
    Effect.gen(function* () {
      const store = (yield* Store).browserSessions
      const at = anEra()
      const { id } = yield* aWorkspace()
      const [session, other] = [yield* aSession(at, id), yield* aSession(at, id)]
      yield* store.end(session.hash)
      yield* store.end(session.hash)
      assert.isNull(yield* use(session, at))
      assert.isNotNull(yield* use(other, at))
    }),
  )

  it.effect("one session too many ends the oldest of its holder that is still valid", () =>
    Effect.gen(function* () {
      const store = (yield* Store).browserSessions
      const at = anEra()
      const [shop, other] = [yield* aWorkspace(), yield* aWorkspace()]
      const others = yield* aSession(at, other.id)
      const first = yield* aSession(at, shop.id)
      const over = yield* aSession(at, shop.id, { expiresAt: at + minute })
      const last = yield* aSession(at, shop.id)
      const session = { ...first, hash: aHash(), createdAt: at + minute }
      yield* store.insert(session, 3)
      assert.isTrue(yield* isValid(first, at + minute))
      assert.isFalse(yield* isValid(over, at + minute))
      yield* store.insert({ ...session, hash: aHash() }, 3)
      assert.isFalse(yield* isValid(first, at + minute))
      assert.isTrue(yield* isValid(last, at + minute))
      assert.isTrue(yield* isValid(others, at + minute))
    }),
  )
}

const ending: Topic = (it) => {
  const changes = {
    disabled: (id: WorkspaceId, now: number) =>
      Store.use(({ workspaces: store }) =>
        store.update(id, () => ({ change: { accountDisabled: true }, admits: admitsAll }), now),
      ),
    deleted: (id: WorkspaceId, now: number) =>
      Store.use(({ workspaces: store }) => store.delete(id, now)),
  }
  for (const [what, change] of Object.entries(changes)) {
    it.effect(`a workspace that is ${what} ends its sessions and its links`, () =>
      Effect.gen(function* () {
        const at = anEra()
        const [shop, other] = [yield* aWorkspace(), yield* aWorkspace()]
        const [session, others] = [yield* aSession(at, shop.id), yield* aSession(at, other.id)]
        const [link, otherLink] = [yield* aLink(at, shop.id), yield* aLink(at, other.id)]
        const used = present(yield* exchange(yield* aLink(at, shop.id), at))
        yield* change(shop.id, at)
        assert.isNull(yield* use(session, at))
        assert.isNull(yield* use(used, at))
        assert.isNull(yield* exchange(link, at))
        assert.isNotNull(yield* use(others, at))
        assert.isNotNull(yield* exchange(otherLink, at))
      }),
    )
  }

  it.effect("a link of a workspace that is enabled again stays revoked", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const at = anEra()
      const { id } = yield* aWorkspace()
      const link = yield* aLink(at, id)
      for (const accountDisabled of [true, false]) {
        yield* store.update(id, () => ({ change: { accountDisabled }, admits: admitsAll }), at)
      }
      assert.isNull(yield* exchange(link, at))
      assert.isNotNull(yield* exchange(yield* aLink(at, id), at))
    }),
  )
}

const links: Topic = (it) => {
  it.effect("a code begins one session, as its link says", () =>
    Effect.gen(function* () {
      const at = anEra()
      const { id } = yield* aWorkspace()
      const link = yield* aLink(at, id)
      const made = present(yield* exchange(link, at + 15 * minute - 1))
      assert.deepStrictEqual(made.session, {
        workspaceId: id,
        role: "member",
        returnUrl: "https://shop.example/back",
        createdAt: at + 15 * minute - 1,
        expiresAt: at + 15 * minute - 1 + hour,
      })
      assert.deepStrictEqual(present(yield* use(made, at + hour)).session, made.session)
      assert.isNull(yield* exchange(link, at))
      assert.isNull(yield* exchange(yield* aLink(at, id), at + 15 * minute))
      assert.isNull(yield* exchange({ ...link, codeHash: aHash() }, at))
    }),
  )

  it.effect("an operator's code works with its token alone", () =>
    Effect.gen(function* () {
      const at = anEra()
      const link = yield* aLink(at, null, { role: "owner", returnUrl: null })
      assert.isNull(yield* exchange(link, at, "another token"))
      assert.isNull(yield* exchange(link, at, null))
      const made = present(yield* exchange(link, at))
      assert.isTrue(yield* isValid(made, at))
      const other = { ...query(made, at), tokenMark: "another token" }
      assert.isFalse(yield* Store.use(({ browserSessions: store }) => store.isValid(other)))
    }),
  )

  it.effect("links of a workspace are listed newest first, with what became of them", () =>
    Effect.gen(function* () {
      const store = (yield* Store).browserSessions
      const at = anEra()
      const { id } = yield* aWorkspace()
      yield* aLink(at, (yield* aWorkspace()).id)
      const used = yield* aLink(at, id)
      yield* aLink(at + 1, id, { role: "owner", returnUrl: null })
      yield* exchange(used, at + minute)
      const { items } = yield* store.links(id, { before: null, limit: 10 })
      const unused = { usedAt: null, expiresAt: null, revokedAt: null }
      assert.deepStrictEqual(
        items.map((link) => ({ ...link, id: 0 })),
        [
          {
            id: 0,
            role: "owner",
            returnUrl: null,
            createdAt: at + 1,
            codeExpiresAt: at + 1 + 15 * minute,
            ...unused,
          },
          {
            id: 0,
            role: "member",
            returnUrl: "https://shop.example/back",
            createdAt: at,
            codeExpiresAt: at + 15 * minute,
            ...unused,
            usedAt: at + minute,
            expiresAt: at + minute + hour,
          },
        ],
      )
      const rest = yield* store.links(id, { before: items[0]?.id ?? 0, limit: 10 })
      assert.deepStrictEqual(rest.items, items.slice(1))
    }),
  )

  it.effect("a revoked link and its session stop at once, in their workspace alone", () =>
    Effect.gen(function* () {
      const store = (yield* Store).browserSessions
      const at = anEra()
      const [shop, other] = [yield* aWorkspace(), yield* aWorkspace()]
      const [used, unused] = [yield* aLink(at, shop.id), yield* aLink(at, shop.id)]
      const made = present(yield* exchange(used, at))
      const { items } = yield* store.links(shop.id, { before: null, limit: 10 })
      for (const { id } of items) {
        assert.isFalse(yield* store.revokeLink(other.id, id, at))
        assert.isTrue(yield* store.revokeLink(shop.id, id, at + 1))
        assert.isTrue(yield* store.revokeLink(shop.id, id, at + 2))
      }
      assert.isFalse(yield* isValid(made, at))
      assert.isNull(yield* exchange(unused, at))
      const revoked = yield* store.links(shop.id, { before: null, limit: 10 })
      assert.deepStrictEqual(
        revoked.items.map(({ revokedAt }) => revokedAt),
        [at + 1, at + 1],
      )
    }),
  )

  it.effect("a workspace has no more links that work than the limit, also in a race", () =>
    Effect.gen(function* () {
      const store = (yield* Store).browserSessions
      const at = anEra()
      const { id } = yield* aWorkspace()
      const used = yield* aLink(at, id)
      yield* exchange(used, at)
      const made = yield* Effect.forEach(
        Array.from({ length: 6 }),
        () => store.insertLink({ ...used, codeHash: aHash() }, 2),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(
        made.filter((link) => link !== null),
        2,
      )
      const later = { ...used, createdAt: at + hour, codeExpiresAt: at + 2 * hour }
      assert.isNotNull(yield* store.insertLink({ ...later, codeHash: aHash() }, 2))
    }),
  )

  it.effect("of many that exchange a code at the same time one signs in", () =>
    Effect.gen(function* () {
      const at = anEra()
      const { id } = yield* aWorkspace()
      const link = yield* aLink(at, id)
      const made = yield* Effect.forEach(Array.from({ length: 8 }), () => exchange(link, at), {
        concurrency: "unbounded",
      })
      assert.lengthOf(
        made.filter((session) => session !== null),
        1,
      )
    }),
  )

  it.effect("what has ended is forgotten: sessions at once, links when they are old", () =>
    Effect.gen(function* () {
      const store = (yield* Store).browserSessions
      const at = anEra()
      const { id } = yield* aWorkspace()
      const session = yield* aSession(at, id)
      const operators = yield* aSession(at, null)
      const over = yield* aSession(at, id, { expiresAt: at + minute })
      const [old, link] = [yield* aLink(at - 31 * day, id), yield* aLink(at, id)]
      const now = at + minute
      yield* store.forget(now, now - 30 * day)
      assert.deepStrictEqual(
        yield* Effect.forEach([session, operators, over], (one) => isValid(one, at)),
        [true, true, false],
      )
      // Forgotten, and not only late: at that time it was young.
      assert.isNull(yield* exchange(old, at - 31 * day))
      assert.isNotNull(yield* exchange(link, at))
      yield* store.forget(at + 2 * hour, 0)
      assert.isFalse(yield* isValid(operators, at))
      assert.isTrue(yield* isValid(session, at))
    }),
  )
}

export const browserSessions: Topic = (it, options) => {
  for (const topic of [validity, ending, links]) topic(it, options)
}
