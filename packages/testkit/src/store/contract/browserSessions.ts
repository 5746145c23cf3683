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
import { aHash, admitsAll, anEra, aWorkspace, hour, minute } from "../Records.ts"

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
}

const links: Topic = (it) => {
  it.effect("a workspace has no more links that work than the limit, also in a race", () =>
    Effect.gen(function* () {
      const store = (yield* Store).browserSessions
      const at = anEra()
      const { id } = yield* aWorkspace()
      const used = yield* aLink(at, id)
      yield* exchange(used, at)
      const signInLinks = yield* Effect.forEach(
        Array.from({ length: 6 }),
        () => store.insertLink({ ...used, codeHash: aHash() }, 2),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(
        signInLinks.filter((link) => link !== null),
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
      const created = yield* Effect.forEach(Array.from({ length: 8 }), () => exchange(link, at), {
        concurrency: "unbounded",
      })
      assert.lengthOf(
        created.filter((session) => session !== null),
        1,
      )
    }),
  )
}

export const browserSessions: Topic = (it, options) => {
  for (const topic of [validity, ending, links]) topic(it, options)
}
