/** The service for tests: `openTest`. It works with any test runner. */
export { openTest } from "./openTest.ts"
export type * from "./TestMessaging.ts"
export type { WaitsFor } from "../api/messages.ts"
