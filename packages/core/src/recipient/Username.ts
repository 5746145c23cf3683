/**
 * The three spellings that address a Telegram user: `@name`, a `t.me/name` link, and `tg:` with a user id.
 */

import type { Described } from "../request/Described.ts"

/** `given` is the text as it came and as the message shows it; `target` is whom it means. */
export interface Username {
  readonly given: string
  readonly target:
    | { readonly kind: "name"; readonly name: string }
    | { readonly kind: "id"; readonly id: number }
}

/**
 * Reads a username; `undefined` for what the contract calls `invalid_username`. A bare name is not accepted, nor is an
 * invite link, which leads to a chat and to no user. Host and scheme of a link compare without case.
 */
export const parseUsername = (text: string): Username | undefined => {
  const id = idForm.exec(text)?.[1]
  if (id !== undefined) {
    const value = Number(id)
    return Number.isSafeInteger(value)
      ? { given: text, target: { kind: "id", id: value } }
      : undefined
  }
  const name = atForm.exec(text)?.[1] ?? linkForm.exec(text)?.[1]
  return name === undefined ? undefined : { given: text, target: { kind: "name", name } }
}

/** What the document says of a username in a request. */
export const usernameDescribed: Described = {
  description: "A Telegram user: `@name`, a `t.me/name` link, or `tg:` followed by a user id.",
  examples: ["@example"],
}

const idForm = /^tg:([1-9][0-9]{0,15})$/
const atForm = /^@([A-Za-z][A-Za-z0-9_]{3,31})$/
// `t.me/joinchat/` is an invite link that lost its code, not a user of that name.
const linkForm = /^(?:https?:\/\/)?(?:www\.)?t\.me\/(?!joinchat\/?$)([a-z][a-z0-9_]{3,31})\/?$/i
