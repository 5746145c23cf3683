/**
 * The messaging service inside your own program: `open` it, act for workspaces with promises, and
 * `close` it. You need no knowledge of Effect.
 */
export { MessagingError } from "./MessagingError.ts"
export type { ErrorCode, ErrorProblem } from "./MessagingError.ts"
export { open } from "./open.ts"
export type * from "./api/campaigns.ts"
export type * from "./api/chats.ts"
export type * from "./api/common.ts"
export type * from "./api/messages.ts"

export type * from "./api/Messaging.ts"
export type * from "./api/numbers.ts"
export type * from "./api/operator.ts"
export type * from "./api/options.ts"
export type * from "./api/reminders.ts"

export type * from "./api/webhooks.ts"
