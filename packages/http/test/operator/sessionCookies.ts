/** Cookies of signed-in browsers, for suites of the operator API. */
import { Store } from "@messaging-service/core"
import type { Role, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { HttpTestClients } from "../HttpTestClients.ts"

export const callers = ["operator", "owner", "administrator", "member"] as const

export type Caller = (typeof callers)[number]

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

/** A session of that caller, which needs no signing in. */
export const aSession = (caller: Caller, workspaceId: number) =>
  Effect.gen(function* () {
    const store = (yield* Store).browserSessions
    const { socket } = yield* HttpTestClients
    if (caller === "operator") {
      const answer = yield* socket.call({
        method: "POST",
        path: "/admin/v1/session",
        json: { token: "an operator's token" },
      })
      return answer.headers["set-cookie"]?.split(";")[0] ?? ""
    }
    const id = randomBytes(32).toString("hex")
    const now = Date.now()
    yield* store.insert(
      {
        hash: sha256(id),
        workspaceId: workspaceId as WorkspaceId,
        role: caller satisfies Role,
        returnUrl: null,
        tokenMark: null,
        createdAt: now,
        expiresAt: now + 3_600_000,
      },
      20,
    )
    const cleared = yield* socket.call({ method: "DELETE", path: "/admin/v1/session" })
    return `${cleared.headers["set-cookie"]?.split(";")[0] ?? ""}${id}`
  })
