/** An egress that records posts and answers as scripted, as receivers see them. */
import { createHmac } from "node:crypto"
import { Clock, Effect, Layer } from "effect"
import { Egress } from "../../src/index.ts"
import type { EgressError, PostAnswer } from "../../src/index.ts"

export interface Post {
  readonly at: number
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly allowHttp: boolean
}

export const ok: PostAnswer = { status: 200, headers: {} }

/** Every post gets this answer; `posts` are in the order of sending. */
export const receiving = (
  answer: (post: Post) => Effect.Effect<PostAnswer, EgressError> = () => Effect.succeed(ok),
) => {
  const posts: Array<Post> = []
  const egress = Layer.succeed(Egress, {
    allows: () => Effect.succeed(true),
    fetch: () => Effect.die("not asked for in these tests"),
    post: (url, { allowHttp, body, headers }) =>
      Effect.gen(function* () {
        const at = yield* Clock.currentTimeMillis
        const post = { at, url, headers, body, allowHttp }
        posts.push(post)
        return yield* answer(post)
      }),
  })
  return { posts, egress }
}

/** Whether the post is signed with that secret (contract: Signatures). */
export const isSignedWith = (secret: string, { body, headers }: Post): boolean => {
  const mac = createHmac("sha256", secret).update(`${headers["service-timestamp"]}.${body}`)
  return headers["service-signature"] === `v1=${mac.digest("hex")}`
}
